import type { Channel } from '#domain/channel.ts';
import type { Guard } from '../egress-guard.ts';
import type { UntrustedWork } from '../untrusted/processes.ts';
import { blueBubblesCarrier } from './bluebubbles.ts';
import type { Carrier, FetchMedia } from './carrier.ts';
import { simulatedCarrier, type SimulatedCarrierOptions } from './simulated.ts';
import { smtpCarrier } from './smtp.ts';
import { twilioCarrier } from './twilio.ts';

export interface CarrierOptions {
  /** Null where there is no simulator, as in production. */
  simulator: SimulatedCarrierOptions | null;
  /** How servers are connected to that tenants name in their lines' settings. */
  guard: Guard;
  /** Reads what strangers send. */
  untrusted: UntrustedWork;
  /** How the content of outbound attachments is had; without it, messages that need it are refused. */
  fetchMedia?: FetchMedia;
  /** Twilio's API where it is not Twilio's own address, as in tests. */
  twilioUrl?: string | null;
}

export interface CarrierRegistry {
  readonly names: readonly string[];
  /** @throws when no carrier of that name is configured. */
  get(name: string): Carrier;
  /** The carrier that provisions new lines of a channel; null when none does. */
  provisionerOf(channel: Channel): Carrier | null;
  close(): Promise<void>;
}

/** All carriers there are: the only place that knows their names. */
export function createCarriers({
  simulator,
  guard,
  untrusted,
  fetchMedia,
  twilioUrl,
}: CarrierOptions): CarrierRegistry {
  const carriers: Carrier[] = [
    ...(simulator ? [simulatedCarrier(simulator)] : []),
    smtpCarrier({ guard, untrusted, ...(fetchMedia && { fetchMedia }) }),
    blueBubblesCarrier({ guard, ...(fetchMedia && { fetchMedia }) }),
    twilioCarrier({ guard, ...(twilioUrl && { baseUrl: twilioUrl }) }),
  ];
  const byName = new Map(carriers.map((carrier) => [carrier.name, carrier]));
  return {
    names: [...byName.keys()],
    get(name) {
      const carrier = byName.get(name);
      if (!carrier) throw new Error(`There is no carrier "${name}" here`);
      return carrier;
    },
    provisionerOf: (channel) =>
      carriers.find(({ provisioning, channels }) => provisioning && channels.includes(channel)) ?? null,
    async close() {
      await Promise.all(carriers.map((carrier) => carrier.close()));
    },
  };
}
