// The state of the agent, from its rows alone: the same rules as protocol/state.py, which a test compares.

// Nothing is asked of the user: the task is done, or can go on.
export const AT_REST = ["completion_result", "resume_completed_task"];

export const IDLE = ["completion_result", "api_req_failed", "resume_completed_task", "mistake_limit_reached", "auto_approval_max_req_reached"];
export const INTERACTIVE = ["followup", "command", "tool", "use_mcp_server", "browser_action_launch"];
const RESUMABLE = ["resume_task"];
const NON_BLOCKING = ["command_output"];

function stateOfAsk(ask) {
  if (NON_BLOCKING.includes(ask)) return "running";
  if (IDLE.includes(ask)) return "idle";
  if (RESUMABLE.includes(ask)) return "resumable";
  if (INTERACTIVE.includes(ask)) return "waiting_for_input";
  return null;
}

function lacksCost(text) {
  if (!text) return true;
  let info;
  try {
    info = JSON.parse(text);
  } catch {
    return false; // what cannot be read counts as done
  }
  return typeof info === "object" && info !== null && !Array.isArray(info) && !Object.hasOwn(info, "cost");
}

export function detectAgentState(rows) {
  const last = rows.at(-1);
  if (!last) return "no_task";
  if (last.partial === true) return "streaming";
  if (last.type === "ask" && last.ask != null) {
    const state = stateOfAsk(last.ask);
    if (state !== null && !last.isAnswered) return state;
    if (state === "idle" || state === "resumable") return "idle";
  }
  const request = rows.findLast((row) => row.say === "api_req_started");
  if (request && lacksCost(request.text)) return "streaming";
  return "running";
}
