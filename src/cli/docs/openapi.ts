import { objectSchema } from '../../fields/json-schema.ts';
import type { JsonValue } from '../../json/write-json.ts';
import type { Operation } from '../../operations/operation.ts';
import { version } from '../../version.ts';

/** The whole interface as an OpenAPI 3.1 document. */
export function openApiDocument(operations: readonly Operation[]): JsonValue {
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
          [bodySchemaName(operation), { ...objectSchema(operation.body) }],
          [responseSchemaName(operation), { ...objectSchema(operation.reply) }],
        ]),
      ),
    },
  };
}

function pathItem(operation: Operation): JsonValue {
  const content: { [type: string]: JsonValue } = {
    'application/json': { schema: schemaReference(responseSchemaName(operation)) },
  };
  if (operation.streams) {
    content['text/event-stream'] = {
      schema: { type: 'string', description: 'Chunks as events, when the body asks for a stream' },
    };
  }
  return {
    operationId: camelCase(operation),
    summary: operation.summary,
    description: operation.about,
    'x-preview': operation.preview,
    security: [{ [operation.auth]: [] }],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: schemaReference(bodySchemaName(operation)) } },
    },
    responses: {
      '2XX': { description: 'The operation was applied', content: content },
      default: { description: 'An error; its shape is not part of the interface' },
    },
  };
}

function schemaReference(name: string): JsonValue {
  return { $ref: `#/components/schemas/${name}` };
}

function bodySchemaName(operation: Operation): string {
  return `${capitalize(camelCase(operation))}Body`;
}

function responseSchemaName(operation: Operation): string {
  return `${capitalize(camelCase(operation))}Reply`;
}

function camelCase({ command: [first = '', ...rest] }: Operation): string {
  return first + rest.map(capitalize).join('');
}

function capitalize(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}
