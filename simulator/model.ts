import { setTimeout as pause } from 'node:timers/promises';
import Router from '@koa/router';
import { parseOwnJson } from '#domain/base/own-json.ts';
import type { Context } from 'koa';
import { z } from 'zod';
import { CHARACTERS_PER_TOKEN, simulatedOutput, textsToJudge } from '#providers/models/simulated.ts';
import type { SimulatorContext, SimulatorPart } from './part.ts';

const CompletionRequest = z.object({
  model: z.string(),
  messages: z.array(z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() })).min(1),
});
type CompletionRequest = z.infer<typeof CompletionRequest>;

const MAX_KEPT_REQUESTS = 2000;
const SLOW_MS = 1500;

/**
 * A deterministic language model with OpenAI's chat completions API at `/model/v1`. `GET /simulated/model/requests`
 * lists its requests. `simulate:timeout`, `simulate:slow`, `simulate:429`, `simulate:quota`, `simulate:500`, `simulate:garbage`,
 * `simulate:refusal`, `simulate:template`, `simulate:link` or `simulate:uncounted` in the system message, or in a reply that it judges,
 * causes that fault. Audio is transcribed at `/model/v1/audio/transcriptions`, to the text of the last `POST /simulated/model/spoken`.
 */
export function simulateModel({ secret }: SimulatorContext): SimulatorPart {
  const requests: (CompletionRequest & { at: string })[] = [];
  const transcriptions: { model: string; size: number }[] = [];
  let spoken = 'This is the text of a voice note.';
  const hanging = new Set<() => void>();
  const routes = new Router();

  routes.post('/model/v1/chat/completions', async (context) => {
    if (context.get('authorization') !== `Bearer ${secret}`) {
      return refuse(context, 401, 'invalid_api_key', 'Incorrect API key provided');
    }
    const request = CompletionRequest.parse(context.request.body);
    requests.push({ ...request, at: new Date().toISOString() });
    if (requests.length > MAX_KEPT_REQUESTS) requests.shift();
    const system = request.messages.find(({ role }) => role === 'system')?.content ?? '';
    const fault = /simulate:(\w+)/.exec([system, ...textsToJudge(dataOf(request))].join(' '))?.[1] ?? 'none';
    switch (fault) {
      case 'timeout':
        await new Promise<void>((resolve) => {
          hanging.add(resolve);
          context.req.socket.once('close', resolve);
        });
        return;
      case 'slow':
        await pause(SLOW_MS);
        return complete(context, request, { content: JSON.stringify(outputFor(request)) });
      case '429':
        context.set('retry-after', '0.05');
        return refuse(context, 429, 'rate_limit_exceeded', 'Rate limit reached');
      case 'quota':
        return refuse(context, 429, 'insufficient_quota', 'You exceeded your current quota');
      case '500':
        context.set('retry-after', '0.05');
        return refuse(context, 500, 'server_error', `The server had an error with ${dataTextOf(request)}`);
      case 'garbage':
        return complete(context, request, { content: 'Sure! Here is a draft: {"draft": ' });
      case 'refusal':
        return complete(context, request, { content: null, refusal: "I can't help with that." });
      case 'template':
        return complete(context, request, {
          content: JSON.stringify({
            draft: 'Hi {{ notes }}{% assign a = 1 %}',
            confidence: 1,
            message: 'Hi {{ notes }}{% assign a = 1 %}',
          }),
        });
      case 'link':
        return complete(context, request, {
          content: JSON.stringify({ message: 'Win a prize at https://prize.example' }),
        });
      case 'uncounted':
        complete(context, request, { content: JSON.stringify(outputFor(request)) });
        context.body = { ...(context.body as object), usage: undefined };
        return;
      default:
        return complete(context, request, { content: JSON.stringify(outputFor(request)) });
    }
  });

  routes.post('/model/v1/audio/transcriptions', (context) => {
    if (context.get('authorization') !== `Bearer ${secret}`) {
      return refuse(context, 401, 'invalid_api_key', 'Incorrect API key provided');
    }
    const { model } = z
      .object({ model: z.string(), response_format: z.literal('json') })
      .parse(context.request.body);
    const file = z.object({ file: z.object({ size: z.int().min(1), originalFilename: z.string() }) });
    const { size, originalFilename } = file.parse(context.request.files).file;
    if (!/\.(?:flac|m4a|mp[34]|mpe?ga|oga|ogg|wav|webm)$/.test(originalFilename))
      return refuse(context, 400, 'unsupported_format', 'Unrecognized file format');
    transcriptions.push({ model, size });
    if (spoken === 'simulate:500') return refuse(context, 500, 'server_error', 'The server had an error');
    context.body = { text: spoken, usage: { type: 'duration', seconds: Math.ceil(size / 4000) } };
  });

  routes.get('/simulated/model/transcriptions', (context) => {
    context.body = { transcriptions };
  });

  routes.post('/simulated/model/spoken', (context) => {
    spoken = z.object({ text: z.string() }).parse(context.request.body).text;
    context.body = { success: true };
  });

  routes.get('/simulated/model/requests', (context) => {
    const { contains } = z.object({ contains: z.string().optional() }).parse(context.query);
    const found = requests.filter(
      ({ messages }) => contains === undefined || messages.some(({ content }) => content.includes(contains)),
    );
    context.body = { count: found.length, requests: found };
  });

  return {
    routes,
    async stop() {
      for (const release of hanging) release();
    },
  };
}

const dataTextOf = ({ messages }: CompletionRequest): string =>
  messages.findLast(({ role }) => role === 'user')?.content ?? '{}';
const dataOf = (request: CompletionRequest): unknown => parseOwnJson(dataTextOf(request));

const outputFor = (request: CompletionRequest): object => simulatedOutput(dataOf(request));

function complete(
  context: Context,
  { model, messages }: CompletionRequest,
  message: { content: string | null; refusal?: string },
): void {
  const prompt = messages.reduce((sum, { content }) => sum + content.length, 0);
  const promptTokens = Math.ceil(prompt / CHARACTERS_PER_TOKEN);
  const completionTokens = Math.ceil(
    (message.content ?? message.refusal ?? '').length / CHARACTERS_PER_TOKEN,
  );
  context.body = {
    id: 'chatcmpl-simulated',
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model,
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }],
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
    },
  };
}

function refuse(context: Context, status: number, code: string, message: string): void {
  context.status = status;
  context.body = { error: { message, type: 'invalid_request_error', param: null, code } };
}
