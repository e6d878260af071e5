import type { Tenant } from '../chaos/load.ts';
import type { Installation } from './installation.ts';

/** What a fault acts on. */
export interface Scene {
  installation: Installation;
  tenants: readonly Tenant[];
  say(text: string): void;
}

/** Something that happens to the installation while messages are sent. */
export interface Fault {
  name: string;
  /** What happens, for the report. */
  text: string;
  /** About how long it takes. */
  seconds: number;
  /** The alerts that have to fire. */
  alerts: readonly string[];
  /** The alerts that may fire as well, if the machine is slow. */
  mayAlert?: readonly string[];
  /**
   * @returns what was observed, for the report.
   * @throws if the product behaves otherwise than documented.
   */
  run(scene: Scene): Promise<string>;
}
