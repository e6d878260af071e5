import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSomebodyElse } from '#test/conformance/http-carrier-worlds.ts';
import type { Model } from './model.ts';
import { openAiModel } from './openai.ts';

let server: Awaited<ReturnType<typeof startSomebodyElse>>;
let model: Model;
beforeAll(async () => {
  server = await startSomebodyElse();
  model = openAiModel({ baseUrl: server.url, apiKey: 'sk', model: 'm', timeoutMs: 1000, caFile: null });
});
afterAll(() => server.stop());

const answer = (body: unknown) => {
  server.answer(200, 'application/json', typeof body === 'string' ? body : JSON.stringify(body));
  return model.answer({ instructions: 'i', data: 'd' }, new AbortController().signal);
};
const usage = { prompt_tokens: 3, completion_tokens: 2 };
const message = { content: 'Hello' };

describe('a completion', () => {
  it.each([
    [
      { choices: [{ message }], usage },
      { promptTokens: 3, completionTokens: 2 },
    ],
    [{ choices: [{ message, finish_reason: null }] }, null],
    [{ choices: [{ message, finish_reason: 7 }], usage: {} }, null],
    [{ choices: [{ message: { ...message, refusal: false } }], usage: { prompt_tokens: '3' } }, null],
    [{ choices: [{ message }, null], usage: [] }, null],
    [
      {
        choices: [
          {
            message: {
              content: [{ type: 'text', text: 'Hel' }, { type: 'x' }, null, { type: 'text', text: 'lo' }],
            },
          },
        ],
      },
      null,
    ],
  ])('is read: %j', async (body, used) => {
    expect(await answer(body)).toEqual({ text: 'Hello', usage: used });
  });

  it.each(['<html>Welcome</html>', '[]', '{}', '{"choices":{}}', '{"choices":[{"message":{"content":5}}]}'])(
    'is not taken from %s',
    async (body) => {
      await expect(answer(body)).rejects.toThrow('the response is not a chat completion');
    },
  );
});

describe('the check of an endpoint', () => {
  it.each([
    [200, '{"data":[]}', null],
    [404, '<html>Not found</html>', null],
    [200, '<html>Welcome</html>', "the response is not the model's own"],
    [401, '{}', 'the model responded 401'],
    [503, '', 'the model responded 503'],
    [302, '', 'the model is unreachable'],
  ])('that responds %i %s', async (status, body, failure) => {
    server.answer(status, 'application/json', body);
    const reason = await model.check().then(
      () => null,
      (error: Error) => error.message,
    );
    expect(reason).toBe(failure);
  });
});
