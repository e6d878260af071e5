import type Router from '@koa/router';
import type { Journal } from './journal.ts';

/** The shared context of all simulated providers. */
export interface SimulatorContext {
  /** Authenticates requests to the providers; the keys that sign callbacks are derived from it. */
  secret: string;
  /** The public URL of the product, for example `http://localhost:3000`. */
  callbackBaseUrl: string;
  openJournal<Entry>(name: string): Journal<Entry>;
  log(text: string): void;
}

/** One simulated provider: its protocol, and the `/simulated` endpoints that inspect and control it. */
export interface SimulatorPart {
  routes: Router;
  stop(): Promise<void>;
}
