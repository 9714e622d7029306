import { render } from "preact";
import "./style/index.css";
import { startAnswering } from "./ui/answer/start";
import { App } from "./ui/shell/App";
import { start } from "./ui/shell/arrive";

startAnswering();
render(<App />, document.getElementById("app")!);
start();
