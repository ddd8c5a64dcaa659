import { objectSchema } from '../fields/json-schema.ts';
import type { Json } from '../json/write.ts';
import type { Operation } from '../operations/operation.ts';
import { version } from '../version.ts';

/** The whole interface as an OpenAPI 3.1 document. */
export function openApi(operations: readonly Operation[]): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Feedback, call tracing, chat completions and training jobs',
      description:
        'The service svc is a client of. Status codes of success and shapes of errors are not part of the interface.',
      version,
    },
    servers: [
      { url: '{base_url}', variables: { base_url: { default: 'http://localhost', description: 'Base address' } } },
    ],
    paths: Object.fromEntries(operations.map((operation) => [operation.path, { post: pathItem(operation) }])),
    components: {
      securitySchemes: { basic: { type: 'http', scheme: 'basic' }, bearer: { type: 'http', scheme: 'bearer' } },
      schemas: Object.fromEntries(
        operations.flatMap((operation) => [
          [bodyName(operation), { ...objectSchema(operation.body) }],
          [replyName(operation), { ...objectSchema(operation.reply) }],
        ]),
      ),
    },
  };
}

function pathItem(operation: Operation): Json {
  const reply: { [type: string]: Json } = { 'application/json': { schema: reference(replyName(operation)) } };
  if (operation.streams) {
    reply['text/event-stream'] = {
      schema: { type: 'string', description: 'Chunks as events, when the body asks for a stream' },
    };
  }
  return {
    operationId: camel(operation),
    summary: operation.summary,
    description: operation.about,
    'x-preview': operation.preview,
    security: [{ [operation.auth]: [] }],
    requestBody: { required: true, content: { 'application/json': { schema: reference(bodyName(operation)) } } },
    responses: {
      '2XX': { description: 'The operation was applied', content: reply },
      default: { description: 'An error; its shape is not part of the interface' },
    },
  };
}

function reference(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}

function bodyName(operation: Operation): string {
  return `${capital(camel(operation))}Body`;
}

function replyName(operation: Operation): string {
  return `${capital(camel(operation))}Reply`;
}

function camel({ command: [first = '', ...rest] }: Operation): string {
  return first + rest.map(capital).join('');
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}
