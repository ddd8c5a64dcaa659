// Typed by hand from the interface document. One line a field: name, type, and then whatever applies of
// required, nullable, default=…, range=…, only=… (the values allowed).
export const replace = `
feedback_id string required
feedback_type string required
payload object required
project_id string required
svc_ref string required
annotation_ref string nullable
call_ref string nullable
creator string nullable
id string nullable
queue_id string nullable
runnable_ref string nullable
trigger_ref string nullable
svc_user_id string nullable
`;

export const replaceReply = `
created_at date-time required
id string required
payload object required
svc_user_id string required
`;

export const schema = `
project_id string required
start date-time required
end date-time nullable
feedback_type string nullable
sample_limit integer default=2000 range=1..5000
trigger_ref string nullable
`;

export const schemaReply = `
paths list required
paths[].json_path string
paths[].value_type string
`;

export const chat = `
messages list required
model string nullable
frequency_penalty number nullable default=0
logit_bias object
logprobs boolean nullable default=false
top_logprobs integer nullable default=0
max_tokens integer nullable deprecated
max_completion_tokens integer nullable
n integer nullable default=1
presence_penalty number nullable default=0
response_format object
response_format.json_schema object
response_format.json_schema.name string
response_format.json_schema.description string
response_format.json_schema.schema object
response_format.json_schema.strict boolean
seed integer nullable range=-9223372036854776000..9223372036854776000
stop list default=[]
stream boolean nullable default=false
stream_options object
stream_options.include_usage boolean
stream_options.continuous_usage_stats boolean default=false
temperature number nullable
top_p number nullable
tools list nullable
tools[].type string only=function
tools[].function object
tools[].function.name string
tools[].function.description string
tools[].function.parameters object
tool_choice string default="none" only=none
reasoning_effort string nullable only=low,medium,high
include_reasoning boolean default=true
parallel_tool_calls boolean nullable default=true
user string nullable
use_beam_search boolean default=false
top_k integer nullable
min_p number nullable
repetition_penalty number nullable
length_penalty number default=1
stop_token_ids list nullable default=[]
stop_token_ids[] integer
include_stop_str_in_output boolean default=false
ignore_eos boolean default=false
min_tokens integer default=0
skip_special_tokens boolean default=true
spaces_between_special_tokens boolean default=true
truncate_prompt_tokens integer nullable range=-1..9223372036854776000
prompt_logprobs integer nullable
allowed_token_ids list nullable
allowed_token_ids[] integer
bad_words list
bad_words[] string
echo boolean default=false
add_generation_prompt boolean default=true
continue_final_message boolean default=false
add_special_tokens boolean default=false
documents list nullable
documents[] object
chat_template string nullable
chat_template_kwargs object
mm_processor_kwargs object
structured_outputs object
structured_outputs.json string
structured_outputs.regex string
structured_outputs.choice list
structured_outputs.choice[] string
structured_outputs.grammar string
structured_outputs.json_object boolean
structured_outputs.disable_fallback boolean default=false
structured_outputs.disable_any_whitespace boolean default=false
structured_outputs.disable_additional_properties boolean default=false
structured_outputs.whitespace_pattern string
structured_outputs.structural_tag string
structured_outputs._backend string
structured_outputs._backend_was_auto boolean default=false
priority integer default=0
request_id string
return_tokens_as_token_ids boolean nullable
return_token_ids boolean nullable
cache_salt string nullable
kv_transfer_params object
svc_xargs object
repetition_detection object
repetition_detection.max_pattern_size integer
repetition_detection.min_pattern_size integer
repetition_detection.min_count integer
`;

export const chatReply = `
model string required
choices list required
choices[].index integer
choices[].message object
choices[].message.role string
choices[].message.content string
choices[].message.refusal string
choices[].message.annotations object
choices[].message.annotations.type string
choices[].message.annotations.url_citation object
choices[].message.annotations.url_citation.end_index integer
choices[].message.annotations.url_citation.start_index integer
choices[].message.annotations.url_citation.title string
choices[].message.annotations.url_citation.url string
choices[].message.audio object
choices[].message.audio.id string
choices[].message.audio.data string
choices[].message.audio.expires_at integer
choices[].message.audio.transcript string
choices[].message.function_call object
choices[].message.function_call.name string
choices[].message.function_call.arguments string
choices[].message.tool_calls list
choices[].message.tool_calls[].function object
choices[].message.tool_calls[].function.name string
choices[].message.tool_calls[].function.arguments string
choices[].message.tool_calls[].id string
choices[].message.tool_calls[].type string only=function
choices[].message.reasoning string
choices[].logprobs object
choices[].logprobs.content list
choices[].logprobs.content[].token string
choices[].logprobs.content[].logprob number
choices[].logprobs.content[].bytes list
choices[].logprobs.content[].top_logprobs list
choices[].logprobs.content[].top_logprobs[].token string
choices[].logprobs.content[].top_logprobs[].logprob number
choices[].logprobs.content[].top_logprobs[].bytes list
choices[].finish_reason string
choices[].stop_reason integer
choices[].token_ids list
choices[].token_ids[] integer
usage object required
usage.prompt_tokens integer default=0
usage.total_tokens integer default=0
usage.completion_tokens integer default=0
usage.prompt_tokens_details object
usage.prompt_tokens_details.cached_tokens integer
id string
object string default="chat.completion" only=chat.completion
created integer
service_tier string nullable only=auto,default,flex,scale,priority
system_fingerprint string nullable
prompt_logprobs list nullable
prompt_logprobs[] object nullable
prompt_token_ids list nullable
prompt_token_ids[] integer
kv_transfer_params object
`;

export const train = `
model_id uuid required
trajectory_groups list required
trajectory_groups[].trajectories list
trajectory_groups[].trajectories[].additional_histories list
trajectory_groups[].trajectories[].final_policy_version integer
trajectory_groups[].trajectories[].initial_policy_version integer
trajectory_groups[].trajectories[].logs list
trajectory_groups[].trajectories[].messages_and_choices list
trajectory_groups[].trajectories[].metadata object
trajectory_groups[].trajectories[].metrics object
trajectory_groups[].trajectories[].reward number
trajectory_groups[].trajectories[].start_time date-time
trajectory_groups[].trajectories[].tools list
trajectory_groups[].trajectories[].tools[].type string
trajectory_groups[].trajectories[].tools[].function object
trajectory_groups[].trajectories[].tools[].function.name string
trajectory_groups[].trajectories[].tools[].function.description string
trajectory_groups[].trajectories[].tools[].function.parameters object
trajectory_groups[].trajectories[].tools[].function.strict boolean
experimental_config object
experimental_config.advantage_balance number
experimental_config.epsilon number
experimental_config.epsilon_high number
experimental_config.svc_k2_tau number
experimental_config.learning_rate number
experimental_config.mask_prob_ratio boolean
experimental_config.max_negative_advantage_importance_sampling_weight number
experimental_config.ppo boolean
experimental_config.precalculate_logprobs boolean
experimental_config.scale_rewards boolean
`;

export const trainReply = `
id uuid required
`;

export const start = `
start object required
start.attributes object
start.inputs object
start.op_name string
start.project_id string
start.started_at date-time
start.display_name string
start.id string
start.otel_dump object
start.parent_id string
start.thread_id string
start.trace_id string
start.turn_id string
start.svc_run_id string
start.svc_run_step integer
start.svc_user_id string
`;

export const startReply = `
id string required
trace_id string required
`;
