import { readFileSync } from 'node:fs';
import type { Channel } from '#domain/base/channel.ts';
import type { CapabilitiesOf } from '#domain/lines/capability.ts';
import { TEST_CARRIER } from '#domain/test-mode/test-mode.ts';
import type { Guard } from '../egress-guard.ts';
import type { UntrustedWork } from '../untrusted/processes.ts';
import { blueBubblesCarrier } from './bluebubbles/bluebubbles.ts';
import type { Carrier, FetchMedia } from './carrier.ts';
import { linqCarrier } from './linq/linq.ts';
import { type CarrierCall, observed } from './observed.ts';
import { sendblueCarrier } from './sendblue.ts';
import { simulatedCarrier, type SimulatedCarrierOptions } from './simulated.ts';
import { smtpCarrier } from './smtp/smtp.ts';
import { telnyxCarrier } from './telnyx.ts';
import { testCarrier, type TestSends } from './test.ts';
import { TWILIO_OPERATOR, twilioOperatorCarrier, type TwilioOperatorAccount } from './twilio/operator.ts';
import { twilioCarrier } from './twilio/twilio.ts';

/**
 * The carriers that can be searched by recipient, time and text, so that they can be asked about sends
 * without a record. In test mode nothing is sent.
 */
export const FIND_BY_CONTENT: readonly string[] = [
  'bluebubbles',
  'linq',
  'sendblue',
  'twilio',
  TWILIO_OPERATOR,
  TEST_CARRIER,
];

export interface CarrierOptions {
  /** Where lines in test mode store what they send. */
  testSends: TestSends;
  /** Null in production. */
  simulator: SimulatedCarrierOptions | null;
  /** Checks connections to servers whose addresses tenants set. */
  guard: Guard;
  /** Parses untrusted content. */
  untrusted: UntrustedWork;
  /** Without it, carriers that require the content of attachments refuse messages with any. */
  fetchMedia?: FetchMedia;
  /** Called after each send, reconciliation and probe. */
  onCall?: (call: CarrierCall) => void;
  /** Another server with Twilio's API, and the PEM file of its certificate authority. */
  twilioServer?: { url: string | null; caFile: string | null };
  /** See `SMTP_CA_FILE` and `SMTP_EHLO_NAME`. */
  mailServers?: { caFile: string | null; ehloName: string | null };
  /** The operator's account at Twilio, in which numbers are bought for lines; null: none are. */
  twilioAccount?: TwilioOperatorAccount | null;
}

export interface CarrierRegistry {
  readonly names: readonly string[];
  /** The carriers to which workspaces can connect lines. */
  readonly connectable: readonly string[];
  /** @throws if no carrier of that name is configured. */
  get(name: string): Carrier;
  /** What a line can do besides sending text; nothing while it is not connected. */
  readonly capabilitiesOf: CapabilitiesOf;
  /** The carrier that provisions new lines of a channel and type; null if there is none. */
  provisionerOf(channel: Channel, lineType: 'purchased' | 'byo'): Carrier | null;
  /** Checks the account in which numbers are bought. @throws with the reason. Null: there is none. */
  readonly checkNumberAccount: (() => Promise<void>) | null;
  close(): Promise<void>;
}

/** All carriers. No other production code refers to them by name, except that of fallback SMS. */
export function createCarriers({
  testSends,
  simulator,
  guard,
  untrusted,
  fetchMedia,
  onCall,
  twilioServer,
  mailServers,
  twilioAccount,
}: CarrierOptions): CarrierRegistry {
  const twilioOptions = {
    guard,
    ca: twilioServer?.caFile ? readFileSync(twilioServer.caFile, 'utf8') : null,
    ...(twilioServer?.url && { baseUrl: twilioServer.url }),
  };
  const operator = twilioAccount ? twilioOperatorCarrier(twilioAccount, twilioOptions) : null;
  const adapters: Carrier[] = [
    // Before the simulated one, which provides what no real carrier does.
    ...(operator ? [operator] : []),
    ...(simulator ? [simulatedCarrier(simulator)] : []),
    smtpCarrier({
      guard,
      untrusted,
      ...(fetchMedia && { fetchMedia }),
      ca: mailServers?.caFile ? readFileSync(mailServers.caFile, 'utf8') : null,
      ehloName: mailServers?.ehloName ?? null,
    }),
    blueBubblesCarrier({ guard, ...(fetchMedia && { fetchMedia }) }),
    twilioCarrier(twilioOptions),
    linqCarrier({ guard }),
    sendblueCarrier({ guard }),
    telnyxCarrier({ guard }),
    testCarrier(testSends),
  ];
  // Calls of test mode fail as somebody likes, and nobody is to be called for that.
  const carriers = adapters.map((carrier) =>
    onCall && carrier.name !== TEST_CARRIER ? observed(carrier, onCall) : carrier,
  );
  const byName = new Map(carriers.map((carrier) => [carrier.name, carrier]));
  return {
    names: [...byName.keys()],
    connectable: [...byName.keys()].filter((name) => name !== TEST_CARRIER && name !== TWILIO_OPERATOR),
    get(name) {
      const carrier = byName.get(name);
      if (!carrier) throw new Error(`unknown carrier "${name}"`);
      return carrier;
    },
    capabilitiesOf: ({ carrier, channel, carrierConfig }) =>
      byName.get(carrier)?.capabilities(channel, carrierConfig) ?? [],
    provisionerOf: (channel, lineType) =>
      carriers.find(
        ({ provisioning, channels }) =>
          channels.includes(channel) &&
          (lineType === 'byo' ? provisioning?.includesOwnLines : provisioning !== undefined),
      ) ?? null,
    checkNumberAccount: operator && (() => operator.checkAccount()),
    async close() {
      await Promise.all(carriers.map((carrier) => carrier.close()));
    },
  };
}
