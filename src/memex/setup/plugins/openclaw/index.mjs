// Memex in OpenClaw: reports what a person says to an agent and what it does, and gives it the pack of its workspace.
// The hooks are those of OpenClaw 2026.9.6 (docs/plugins/hooks); an event that looks different is left out.
import { hookOf } from "../run_hook.mjs"

const TOOLS = { exec: "Bash", write: "Write", edit: "Edit", apply_patch: "apply_patch" }
const MAX_SESSIONS = 200
// By id: { id, cwd, turn, pack }; the latest last. OpenClaw loads a plugin more than once in a process.
const sessions = (globalThis[Symbol.for("memex.sessions")] ??= new Map())

export default {
  id: "memex",
  name: "Memex",
  description: "Reports sessions to Memex, and gives each one where its work stands.",
  register(api) {
    const program = api.pluginConfig?.program
    if (typeof program !== "string") return
    for (const [name, take] of Object.entries(takersOf(hookOf(program, "openclaw"))))
      api.on(name, async (event, context) => {
        try {
          return await take(event, context)
        } catch {} // an event of another version
      })
  },
}

function takersOf(send) {
  const report = ({ id, turn, cwd }, name, fields) =>
    send({ hook_event_name: name, session_id: id, turn_id: turn, cwd, ...fields })

  /** Keep a session, and forget the one that was used longest ago. */
  function keep(session) {
    sessions.delete(session.id)
    sessions.set(session.id, session)
    if (sessions.size > MAX_SESSIONS) sessions.delete(sessions.keys().next().value)
    return session
  }

  async function end({ sessionId, reason }) {
    const session = sessions.get(sessionId)
    sessions.delete(sessionId)
    if (session) await report(session, "SessionEnd", { reason })
  }

  return {
    // Once in a turn, before the model is asked. OpenClaw keeps no added context, so each turn is given the pack.
    async before_prompt_build(event, context) {
      if (!isPersons(context)) return
      const { sessionId: id, workspaceDir: cwd, runId: turn } = context
      let session = sessions.get(id)
      if (!session) {
        session = keep({ id, cwd, turn, pack: "" })
        session.pack = await report(session, "SessionStart", { source: event.messages?.length ? "resume" : "startup" })
      }
      keep(Object.assign(session, { cwd, turn }))
      const text = event.currentUserMessage ?? event.prompt
      const messages = [{ role: "user", id: `${turn}-user`, text }]
      session.pack = (await report(session, "UserPromptSubmit", { messages })) || session.pack
      return session.pack ? { prependContext: session.pack } : undefined
    },

    async after_tool_call({ toolName, params, result, error, durationMs, toolCallId }, { sessionId, runId }) {
      const session = sessions.get(sessionId)
      if (!session || !TOOLS[toolName] || (runId && runId !== session.turn)) return
      await report(session, error ? "PostToolUseFailure" : "PostToolUse", {
        tool_name: TOOLS[toolName],
        tool_use_id: toolCallId,
        tool_input: { command: params.command ?? params.input, file_path: params.path ?? params.file_path },
        tool_response: { exit_code: result?.details?.exitCode, is_error: result?.isError },
        duration_ms: durationMs,
      })
    },

    async agent_end(event, context) {
      const session = sessions.get(context.sessionId)
      if (!session || !isPersons(context) || context.runId !== session.turn) return
      const text = answerOf(event.messages)
      await report(session, "Stop", { messages: [{ role: "assistant", id: `${session.turn}-assistant`, text }] })
    },

    async after_compaction(_, { sessionId }) {
      const session = sessions.get(sessionId)
      if (session) await report(session, "PreCompact", { trigger: "auto" })
    },

    session_end: (event) => end(event),
    async gateway_stop() {
      await Promise.all([...sessions.keys()].map((sessionId) => end({ sessionId, reason: "other" })))
    },
  }
}

/** Return whether a person wrote the prompt of a turn: no timer, no other session and no subagent's task. */
function isPersons({ trigger, inputProvenance, sessionKey }) {
  const origin = inputProvenance?.kind ?? "external_user"
  return (trigger ?? "user") === "user" && origin === "external_user" && !`${sessionKey}`.includes(":subagent:")
}

/** Return what the agent said since the last prompt. */
function answerOf(messages) {
  const said = messages.slice(messages.findLastIndex((one) => one.role === "user") + 1)
  const texts = said.filter((one) => one.role === "assistant").map(({ content }) => textOf(content))
  return texts.filter((one) => one.trim()).join("\n\n")
}

function textOf(content) {
  if (typeof content === "string") return content
  return content.filter((one) => one.type === "text").map((one) => one.text).join("\n")
}
