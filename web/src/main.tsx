import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { enter } from "./api/client";
import { App } from "./App";
import { applyTheme, systemIsDark } from "./lib/preferences";
import "./style.css";

enter();
applyTheme();
systemIsDark().addEventListener("change", applyTheme);
const root = document.getElementById("page");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
