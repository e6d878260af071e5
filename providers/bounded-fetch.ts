import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { Agent, DecoratorHandler, type Dispatcher, fetch as fetchWith } from 'undici';
import { JsonTooComplex, refuseComplexity } from '#domain/base/untrusted-json.ts';
import { isOver, TooLate } from './time-limit.ts';

/** More than a page of objects of the payment provider has. */
const MAX_VALUES = 50_000;

/** A response is larger, or has more values, than expected. */
export class ResponseTooLarge extends Error {
  override readonly name = 'ResponseTooLarge';
}

/** `fetch` that trusts the certificates of an authority in a PEM file as well; null: only those of the public ones. */
function trusting(caFile: string | null, isPunctual: boolean): typeof fetch {
  if (caFile === null && !isPunctual) return fetch;
  const agent = new Agent(
    caFile === null ? {} : { connect: { ca: [...rootCertificates, readFileSync(caFile, 'utf8')] } },
  );
  const request = fetchWith as unknown as (input: unknown, init: object) => Promise<Response>;
  return (input, init) => {
    const signal = init?.signal;
    const dispatcher = isPunctual && signal ? agent.compose(unlessOver(signal)) : agent;
    return request(input, { ...init, dispatcher });
  };
}

/** Sends nothing after a `timeLimit`. */
const unlessOver =
  (signal: AbortSignal): Dispatcher.DispatcherComposeInterceptor =>
  (dispatch) =>
  (options, handler) =>
    dispatch(options, new Punctual(handler, signal));

/** Its methods lack types. */
const Decorator = DecoratorHandler as new (handler: Dispatcher.DispatchHandler) => DecoratorHandler & {
  onRequestStart(controller: Dispatcher.DispatchController, context: object): void;
};

class Punctual extends Decorator {
  readonly #signal: AbortSignal;

  constructor(handler: Dispatcher.DispatchHandler, signal: AbortSignal) {
    super(handler);
    this.#signal = signal;
  }

  override onRequestStart(controller: Dispatcher.DispatchController, context: object): void {
    // Nothing has been written yet.
    if (isOver(this.#signal)) controller.abort(new TooLate());
    else super.onRequestStart(controller, context);
  }
}

/**
 * `fetch` for services that the operator configures. It reads the whole response, which fails beyond a size, and if its JSON would take
 * long to parse, which libraries do without bounds: what answers may not be what was configured.
 * @param maxBytes of the decoded body.
 * @param caFile PEM file of the authority of the service; null: a public one.
 * @param options.isPunctual nothing leaves the process after the `timeLimit` of a request.
 */
export function boundedFetch(
  maxBytes: number,
  caFile: string | null = null,
  { isPunctual = false } = {},
): typeof fetch {
  const send = trusting(caFile, isPunctual);
  return async (...request) => {
    const { body, status, statusText, headers } = await send(...request);
    if (body === null) return new Response(null, { status, statusText, headers });
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of body) {
      size += chunk.length;
      // Leaving the loop cancels the response.
      if (size > maxBytes) throw new ResponseTooLarge(`the response has more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
    const content = Buffer.concat(chunks);
    refuseComplex(content);
    return new Response(content, { status, statusText, headers });
  };
}

/** @throws ResponseTooLarge */
function refuseComplex(content: Buffer): void {
  try {
    // Brackets, commas and quotes are the same in Latin-1, which is decoded at no cost.
    refuseComplexity(content.toString('latin1'), MAX_VALUES);
  } catch (error) {
    if (error instanceof JsonTooComplex) throw new ResponseTooLarge(`the response ${error.message}`);
    throw error;
  }
}
