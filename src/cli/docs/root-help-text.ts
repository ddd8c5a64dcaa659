// Generated from the commands by `npm run generate`.

/** The help of the whole program: every command on a line. */
export const rootHelpText = `Usage: svc <command> [flags]

Replace feedback, discover its schema, chat, train and trace calls, from flags,
JSON files and pipes.

Operations:
  feedback replace  Replace a feedback record of an object or call
  feedback schema   Discover the paths and types of feedback payloads
  chat              Create a chat completion
  train             Create a reinforcement-learning training job (preview)
  call start        Record the start of a traced call

Credentials and profiles:
  auth login        Store credentials in a profile
  auth logout       Remove the credentials of a profile
  auth status       Show which credentials there are, without showing them
  profile list      List the profiles
  profile show      Show a profile without its secrets
  profile set       Change a profile, or make one
  profile use       Choose the profile to use where none is named
  profile remove    Remove a profile and its credentials

Tools:
  train lint        Check trajectories for what cannot be trained on
  train log         List the training jobs that were sent from here
  serve             Run the local service on a port
  batch merge       Put the results of sharded batches together
  spec              Print the JSON Schema of a body, and more
  doctor            Show what is configured and whether the service can be reached
  completion        Print a completion script for a shell
  help              Explain a command, exit-codes or environment

Flags:
  -h, --help     Show help, also of a command: svc chat --help
  -V, --version  Print the version

Start here:
  svc chat --local "Hello"            ask the embedded service, nothing to set up
  svc auth login --base-url <url>     store credentials for a real one
  svc help exit-codes                 what scripts can rely on
`;
