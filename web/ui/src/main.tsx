import { render } from "preact";
import "./style/index.css";
import { App } from "./ui/shell/App";
import { start } from "./ui/shell/arrive";

render(<App />, document.getElementById("app")!);
start();
