/** The fields of a chat body that change the response of the built-in model; it accepts all others and ignores them. */
export const simulatedFields: readonly string[] = `
  messages n seed stop stop_token_ids include_stop_str_in_output max_tokens max_completion_tokens min_tokens logprobs
  top_logprobs prompt_logprobs return_token_ids return_tokens_as_token_ids echo continue_final_message stream
  stream_options request_id include_reasoning tools tool_choice response_format structured_outputs priority
`
  .trim()
  .split(/\s+/);

/** The fields of `structured_outputs` that the built-in model accepts and does not enforce. */
export const unenforcedConstraints: readonly string[] = ['grammar', 'structural_tag'];
