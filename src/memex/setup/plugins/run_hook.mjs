// Runs `memex-hook` for a plugin. A failure is never the agent's, and nothing waits for an event that is only told.
import { spawn } from "node:child_process"

const PATIENCE_MS = 5_000 // memex-hook takes a tenth of a second, and ends by itself after 4

/** Return a function that starts `memex-hook` with an event, and resolves to the context that it gives, or "".
 *
 * The process is there when the function returns, and goes on where the agent ends meanwhile.
 */
export const hookOf = (program, client) => (event) =>
  new Promise((resolve) => {
    const child = spawn(program, [client], { detached: true, stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => finish(""), PATIENCE_MS)
    let output = ""
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (text) => (output += text))
    child.stdin.on("error", () => {})
    child.on("error", () => finish(""))
    child.on("close", () => finish(output))
    child.stdin.end(JSON.stringify(event))

    function finish(text) {
      clearTimeout(timer)
      resolve(contextOf(text))
    }
  }).catch(() => "")

function contextOf(text) {
  try {
    const context = JSON.parse(text).hookSpecificOutput.additionalContext
    return typeof context === "string" ? context : ""
  } catch {
    return ""
  }
}
