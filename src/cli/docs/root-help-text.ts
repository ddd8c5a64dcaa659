// Generated from the commands by `npm run generate`.

/** The full help of svc at 80 columns. */
export const rootHelpText = `Send feedback, chats, training jobs and traced calls to a service. Request
bodies come from flags, files and stdin.

Usage:
  svc <command> [flags]

Examples:
  svc chat --local "Hello"         # ask the local service; needs no setup
  svc auth login --base-url <url>  # store credentials for a real service
  svc doctor                       # show the settings and test the connection

Operations:
  feedback replace  Replace a feedback record of an object or call
  feedback schema   Discover the paths and types of feedback payloads
  chat              Create a chat completion
  train             Create a reinforcement-learning training job (preview)
  call start        Record the start of a traced call

Credentials and profiles:
  auth login      Store credentials in a profile
  auth logout     Remove the credentials of a profile
  auth status     Show the profile and the credentials in effect, redacted
  profile list    List the profiles
  profile show    Show a profile and the credentials in effect, redacted
  profile set     Create or change a profile
  profile use     Select the default profile
  profile remove  Remove a profile and its credentials

Tools:
  call run      Run a command and record it as a traced call
  call import   Record the spans of an OTLP/JSON file as calls
  call flush    Send the spooled calls
  train lint    Check trajectories without sending them
  train log     List the training jobs sent from this machine
  log           List the requests sent from this machine, if the history is on
  log show      Show one recorded request with its bodies
  log prune     Remove old requests from the history
  log clear     Remove all recorded requests and prompts
  serve         Run the local service on a port
  batch merge   Combine the outputs of sharded batches
  batch report  Summarize the output of a batch
  spec          Print the JSON Schema, a skeleton, or the OpenAPI document
  doctor        Show the settings in effect and test the connection
  completion    Print a completion script for a shell
  help          Show help for a command or topic
  mcp           Serve the operations as tools for agents (MCP)

Flags:
  -h, --help     Show help: -h the most useful flags, --help all of them
  -V, --version  Print the version; with --json also commit, Node and libraries

Topics:
  svc help <topic>: bodies, batch, exit-codes, environment, connection, output,
  profiles, retries, training, tracing, local-service

Questions: https://github.com/OWNER/svc/issues
Guides: {docs}
`;

/** The short help of svc at 80 columns. */
export const rootShortHelpText = `Usage:
  svc <command> [flags]

Commands:
  feedback    Replace feedback and discover its schema
  chat        Create a chat completion
  train       Create a reinforcement-learning training job (preview)
  call        Record traced calls
  auth        Store, show and remove credentials
  profile     Manage profiles: base URLs, credentials and defaults
  log         List the requests sent from this machine, if the history is on
  serve       Run the local service on a port
  batch       Work with the outputs of batches
  spec        Print the JSON Schema, a skeleton, or the OpenAPI document
  doctor      Show the settings in effect and test the connection
  completion  Print a completion script for a shell
  help        Show help for a command or topic
  mcp         Serve the operations as tools for agents (MCP)

Examples:
  svc chat --local "Hello"         # ask the local service; needs no setup
  svc auth login --base-url <url>  # store credentials for a real service

svc --help lists all commands and topics. Guides: {docs}
`;
