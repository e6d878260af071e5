import type Router from '@koa/router';
import type { Journal } from './journal.ts';

/** What the simulator gives to each provider it stands in for. */
export interface SimulatorContext {
  /** Authenticates our requests to the providers, and is the root of the keys that sign theirs to us. */
  secret: string;
  /** Where the product is reached, e.g. `http://localhost:3000`. */
  callbackBaseUrl: string;
  openJournal<Entry>(name: string): Journal<Entry>;
  log(text: string): void;
}

/** One simulated provider: its own protocol and the `/simulated` endpoints that show and steer it. */
export interface SimulatorPart {
  routes: Router;
  stop(): Promise<void>;
}
