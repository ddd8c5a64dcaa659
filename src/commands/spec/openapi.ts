import { minimalBody } from '../../fields/field.ts';
import { objectSchema } from '../../fields/json-schema.ts';
import type { JsonValue } from '../../json/write-json.ts';
import type { Operation } from '../../operations/operation.ts';
import { version } from '../../version.ts';

export function openApiDocument(operations: readonly Operation[]): JsonValue {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Feedback, call tracing, chat completions and training jobs',
      description: 'The success status codes and the shapes of errors are not part of the interface.',
      version,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [
      {
        url: '{base_url}',
        description: 'The base URL of the service',
        variables: { base_url: { default: 'http://127.0.0.1:8080' } },
      },
    ],
    paths: Object.fromEntries(operations.map((operation) => [operation.path, { post: pathItem(operation) }])),
    components: {
      securitySchemes: { basic: { type: 'http', scheme: 'basic' }, bearer: { type: 'http', scheme: 'bearer' } },
      schemas: Object.fromEntries(
        operations.flatMap((operation) => [
          [`${schemaName(operation)}Body`, { ...objectSchema(operation.body, 'openapi-body') }],
          [`${schemaName(operation)}Response`, { ...objectSchema(operation.reply, 'openapi-response') }],
        ]),
      ),
    },
  };
}

// One by one: several generators of clients cannot read a range such as 4XX.
const errorResponses = {
  400: 'A value that the service does not accept',
  401: 'Missing or wrong credentials',
  403: 'Not allowed with these credentials',
  404: 'An unknown project or model',
  413: 'A body that is too large',
  422: 'A body that does not have the shape of the interface',
  429: 'Rate limited, or an exhausted quota',
  500: 'The service failed; the request may have been applied',
  503: 'The service is overloaded',
};

function pathItem(operation: Operation): JsonValue {
  const { summary, isPreview, auth, body, canStream } = operation;
  const referenceTo = (kind: 'Body' | 'Response') => ({ $ref: `#/components/schemas/${schemaName(operation)}${kind}` });
  const events = { type: 'string', description: 'Chunks as events, when the body asks for a stream' };
  return {
    operationId: schemaName(operation).replace(/^./, (first) => first.toLowerCase()),
    summary,
    description: isPreview ? `${summary}. A preview: it may change.` : summary,
    'x-preview': isPreview,
    security: [{ [auth]: [] }],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: referenceTo('Body'), example: minimalBody(body) } },
    },
    responses: {
      '200': {
        description: 'The operation was applied',
        content: {
          'application/json': { schema: referenceTo('Response') },
          ...(canStream ? { 'text/event-stream': { schema: events } } : {}),
        },
      },
      ...Object.fromEntries(Object.entries(errorResponses).map(([status, description]) => [status, { description }])),
      default: { description: 'An error; its shape is not part of the interface' },
    },
  };
}

function schemaName({ command }: Operation): string {
  return command.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('');
}
