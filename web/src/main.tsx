import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { showTheme } from "./parts/theme";
import "./style.css";

showTheme();
const root = document.getElementById("page");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
