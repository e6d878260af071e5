import { expect, test } from 'vitest';
import { apiChanges, type Document, type Schema } from './openapi-difference.ts';

const json = (schema: Schema) => ({ content: { 'application/json': { schema } } });
const object = (properties: Record<string, Schema>, required: string[] = []): Schema => ({
  type: 'object',
  properties,
  required,
});
const text: Schema = { type: 'string' };

const documentOf = (
  request: Schema,
  response: Schema,
  errors = '`NOT_FOUND`: Not found',
  path = '/api/things',
): Document => ({
  paths: {
    [path]: {
      post: { requestBody: json(request), responses: { 201: json(response), 404: { description: errors } } },
    },
  },
  components: {
    schemas: { Thing: object({ name: text, inner: object({ size: { type: 'integer' } }) }, ['name']) },
  },
});
const thing: Schema = { $ref: '#/components/schemas/Thing' };
const base = documentOf(object({ name: text, kind: { enum: ['a', 'b'], type: 'string' } }, ['name']), thing);

const changesTo = (after: Document) => apiChanges(base, after).map(({ text, breaks }) => [text, breaks]);

test('the same document has no changes', () => {
  expect(apiChanges(base, structuredClone(base))).toEqual([]);
});

test.each<[string, Document, [string, boolean][]]>([
  [
    'an optional field of a request',
    documentOf(
      object({ name: text, kind: { enum: ['a', 'b'], type: 'string' }, more: text }, ['name']),
      thing,
    ),
    [["the request's `more` is new", false]],
  ],
  [
    'a required field of a request',
    documentOf(
      object({ name: text, kind: { enum: ['a', 'b'], type: 'string' }, more: text }, ['name', 'more']),
      thing,
    ),
    [["the request's `more` is new and required", true]],
  ],
  [
    'a list of objects that a request may have, with a required field',
    documentOf(
      object(
        {
          name: text,
          kind: { enum: ['a', 'b'], type: 'string' },
          parts: {
            type: 'array',
            items: object({ size: text, tags: { type: 'array', items: thing } }, ['size']),
          },
        },
        ['name'],
      ),
      thing,
    ),
    [["the request's `parts` is new", false]],
  ],
  [
    'an object that a request may have instead, with a required field',
    documentOf(
      {
        oneOf: [
          object({ name: text, kind: { enum: ['a', 'b'], type: 'string' } }, ['name']),
          object({ name: text, more: text }, ['name', 'more']),
        ],
      },
      thing,
    ),
    [["the request's `more` is new", false]],
  ],
  [
    'values and types',
    documentOf(
      object({ name: { type: 'integer' }, kind: { enum: ['b', 'c'], type: 'string' } }, ['name']),
      thing,
    ),
    [
      ["the request's `name` is integer instead of string", true],
      ['the request\'s `kind` may be "c"', false],
      ['the request\'s `kind` is never "a" any more', true],
    ],
  ],
  [
    'a type that a request may also have',
    documentOf(
      object({ name: { anyOf: [text, { type: 'null' }] }, kind: { enum: ['a', 'b'], type: 'string' } }, [
        'name',
      ]),
      thing,
    ),
    [["the request's `name` is null or string instead of string", false]],
  ],
  [
    'fields of a response, within others',
    documentOf(
      object({ name: text, kind: { enum: ['a', 'b'], type: 'string' } }, ['name']),
      object({ name: text, inner: object({ weight: { type: 'integer' } }) }),
    ),
    [
      ["the response's `name` may be missing", true],
      ["the response's `inner.weight` is new", false],
      ["the response's `inner.size` is gone", true],
    ],
  ],
  [
    'codes of errors',
    documentOf(
      object({ name: text, kind: { enum: ['a', 'b'], type: 'string' } }, ['name']),
      thing,
      '`NOT_FOUND`: Not found\n\n`GONE_FOR_GOOD`: Gone',
    ),
    [['may answer 404 `GONE_FOR_GOOD`', false]],
  ],
])('%s', (_, after, expected) => {
  expect(changesTo(after)).toEqual(expected);
});

test('endpoints come and go', () => {
  const moved = documentOf(text, text, '', '/api/others');
  expect(apiChanges(base, moved)).toEqual([
    { endpoint: 'POST /api/others', text: 'new', breaks: false },
    { endpoint: 'POST /api/things', text: 'removed', breaks: true },
  ]);
});
