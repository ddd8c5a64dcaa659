import { minimalBody } from '../../fields/field.ts';
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
          [bodySchemaName(operation), { ...objectSchema(operation.body, 'openapi-body') }],
          [responseSchemaName(operation), { ...objectSchema(operation.reply, 'openapi-response') }],
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
  const content: { [type: string]: JsonValue } = {
    'application/json': { schema: schemaReference(responseSchemaName(operation)) },
  };
  if (operation.canStream) {
    content['text/event-stream'] = {
      schema: { type: 'string', description: 'Chunks as events, when the body asks for a stream' },
    };
  }
  return {
    operationId: camelCase(operation),
    summary: operation.summary,
    description: operation.isPreview ? `${operation.summary}. A preview: it may change.` : operation.summary,
    'x-preview': operation.isPreview,
    security: [{ [operation.auth]: [] }],
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: schemaReference(bodySchemaName(operation)),
          example: minimalBody(operation.body),
        },
      },
    },
    responses: {
      '200': { description: 'The operation was applied', content },
      ...Object.fromEntries(Object.entries(errorResponses).map(([status, description]) => [status, { description }])),
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
  return `${capitalize(camelCase(operation))}Response`;
}

function camelCase({ command: [first = '', ...rest] }: Operation): string {
  return first + rest.map(capitalize).join('');
}

function capitalize(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}
