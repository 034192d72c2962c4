// Memex in OpenCode: reports what happens in a session, and gives a new session the pack of its folder.
// The interface is that of `@opencode-ai/plugin` 1.18.33; an event that looks different is left out.
import { hookOf } from "./run_hook.mjs"

const TOOLS = { bash: "Bash", edit: "Edit", write: "Write", multiedit: "MultiEdit", apply_patch: "apply_patch" }

/** Return the plugin that runs a program, `memex-hook`, at each event. */
export const memexPlugin = (program) => ({
  id: "memex",
  server: async ({ client, directory }) => hooksOf(client, directory, hookOf(program, "opencode")),
})

function hooksOf(client, directory, send) {
  const sessions = new Map() // by id: { root, agent, turn, answers, said, isStarted }
  const created = new Set()
  const running = new Set()

  function report(session, name, fields = {}) {
    const { root, agent, turn } = session
    const event = { hook_event_name: name, session_id: root, agent_id: agent, turn_id: turn, cwd: directory }
    const sent = send({ ...event, ...fields }).finally(() => running.delete(sent))
    running.add(sent)
    return sent
  }

  /** Return a session, once it is known; that of a subagent has `agent`, and counts to the one that started it. */
  async function sessionOf(id) {
    const known = sessions.get(id)
    if (known) return known
    const found = await client.session.get({ path: { id } })
    const parent = found.data.parentID && (await sessionOf(found.data.parentID))
    const session = { root: parent?.root ?? id, agent: parent ? id : "", turn: "" }
    sessions.set(id, Object.assign(session, { answers: new Set(), said: new Map() }))
    return session
  }

  async function takePrompt({ message, parts }) {
    const { id, sessionID } = message
    const session = await sessionOf(sessionID)
    if (session.agent) return
    session.turn = id
    let context = ""
    if (!session.isStarted) {
      session.isStarted = true
      context = await report(session, "SessionStart", { source: created.has(sessionID) ? "startup" : "resume" })
    }
    const typed = parts.filter((one) => one.type === "text" && !one.synthetic && !one.ignored)
    const text = typed.map((one) => one.text).join("\n\n")
    context = (await report(session, "UserPromptSubmit", { messages: [{ role: "user", id, text }] })) || context
    if (!context) return
    const added = { id: `${parts[0].id}0`, sessionID, messageID: id, type: "text", synthetic: true }
    parts.push({ ...added, text: context })
  }

  function takePart(session, part) {
    if (part.type === "text" && part.time?.end && !part.synthetic) {
      const said = session.said.get(part.messageID) ?? new Map()
      session.said.set(part.messageID, said.set(part.id, part.text))
    } else if (part.type === "tool" && TOOLS[part.tool]) {
      if (part.state.status === "completed") takeTool(session, "PostToolUse", part)
      if (part.state.status === "error") takeTool(session, "PostToolUseFailure", part)
    }
  }

  function takeTool(session, name, { tool, callID, state }) {
    report(session, name, {
      tool_name: TOOLS[tool],
      tool_use_id: callID,
      tool_input: { command: state.input.command ?? state.input.patchText, file_path: state.input.filePath },
      tool_response: { exit_code: state.metadata?.exit },
      duration_ms: state.time.end - state.time.start,
    })
  }

  function takeStop(session) {
    const said = [...session.said].filter(([id]) => session.answers.has(id))
    session.said.clear()
    session.answers.clear()
    if (!session.isStarted) return
    const messages = said.map(([id, parts]) => ({ role: "assistant", id, text: [...parts.values()].join("\n\n") }))
    report(session, "Stop", { messages })
  }

  const takers = {
    "message.updated": (session, { info }) => {
      if (info.role === "assistant" && info.summary !== true) session.answers.add(info.id) // no compaction's words
    },
    "message.part.updated": (session, { part }) => takePart(session, part),
    "session.compacted": (session) => report(session, "PreCompact", { trigger: "auto" }),
    "session.error": (session, { error }) => {
      if (error?.name === "MessageAbortedError") report(session, "Interrupt")
    },
    "session.idle": takeStop,
  }

  return {
    event: async ({ event }) => {
      try {
        const { type, properties } = event
        if (type === "session.created") created.add(properties.info.id)
        const id = properties?.sessionID ?? properties?.info?.sessionID ?? properties?.part?.sessionID
        const session = sessions.get(id)
        if (session) takers[type]?.(session, properties)
      } catch {} // an event of another version
    },
    "chat.message": (_, output) => takePrompt(output).catch(() => {}),
    dispose: async () => {
      await Promise.all(running)
      for (const session of sessions.values()) if (session.isStarted) report(session, "SessionEnd", { reason: "other" })
      await Promise.all(running)
    },
  }
}
