import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { enter } from "./api/client";
import { App } from "./App";
import { applyTheme } from "./lib/theme";
import "./style.css";

enter();
applyTheme();
const root = document.getElementById("page");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
