import { CAPABILITIES, type Capability } from '#domain/lines/capability.ts';
import type { Channel } from '#domain/base/channel.ts';
import { TEST_CARRIER } from '#domain/test-mode/test-mode.ts';
import { createGuard } from '#providers/egress-guard.ts';
import type { Carrier } from '#providers/carriers/carrier.ts';
import { createCarriers } from '#providers/carriers/registry.ts';
import { createUntrustedWork } from '#providers/untrusted/processes.ts';

const INTRODUCTION = `# What carriers can

Generated from the carriers by \`npm run docs\`. The API shows the same as \`capabilities\` of each line. A call for anything else is answered
with \`409 UNSUPPORTED_BY_CARRIER\`; a message with a property that its line cannot send is sent without it, and the response has the
warning \`unsupported_effect\`. [Adding a carrier](adding-a-carrier.md) describes how they are connected.
`;

const MEANING: Record<Capability, string> = {
  reactions: 'react to a message, `POST /api/messages/{id}/reactions`',
  typing:
    'show that somebody types, `POST /api/conversations/{address}/typing`, before the answer of a draft, and as an event of the stream if the contact does',
  read_receipts: 'tell the contact that a message was read, `readReceipts` of the line',
  replies: 'answer one message, `replyToMessageId`',
  effects: 'send with an effect, `effect`',
  edit: 'replace the text of a message that was sent, `PATCH /api/messages/{id}`',
  unsend: 'take a message back, `POST /api/messages/{id}/unsend`',
  contact_card: 'share the name and picture of the line',
  groups: 'write to groups',
  voice_notes: 'send audio as a voice note, `voiceNote`',
  attachments: 'send files, `attachmentUrls`',
};

const CHANNELS: Record<Channel, string> = { imessage: 'iMessage', sms: 'SMS', email: 'email' };

/** The settings that decide what a line can do, with a name for each; by carrier. */
const MODES: Record<string, Record<string, Record<string, unknown>>> = {
  bluebubbles: { 'Private API': { method: 'private-api' }, AppleScript: { method: 'apple-script' } },
};

interface Column {
  title: string;
  can: readonly Capability[];
}

/** docs/carriers.md. */
export async function carrierReference(): Promise<string> {
  const carriers = createCarriers({
    testSends: { keep: async () => false, has: async () => false },
    simulator: { url: 'http://simulator.example', secret: '' },
    guard: createGuard({ allowPrivate: false, httpsOnly: true }),
    untrusted: createUntrustedWork(),
  });
  const columns = carriers.names
    .filter((name) => name !== TEST_CARRIER)
    .flatMap((name) => columnsOf(carriers.get(name)));
  await carriers.close();
  const rows = CAPABILITIES.map(
    (capability) =>
      `| \`${capability}\`: ${MEANING[capability]} | ${columns.map(({ can }) => (can.includes(capability) ? '✓' : '')).join(' | ')} |`,
  );
  const header = `| | ${columns.map(({ title }) => title).join(' | ')} |`;
  return [INTRODUCTION, header, `| - |${' - |'.repeat(columns.length)}`, ...rows, ''].join('\n');
}

/** One column for each channel, and for each setting that makes a difference there. */
function columnsOf({ name, guide, channels, capabilities }: Carrier): Column[] {
  const modes = Object.entries(MODES[name] ?? { '': {} });
  return channels.flatMap((channel) => {
    const all = modes.map(([mode, stored]) => ({ mode, can: capabilities(channel, stored) }));
    const isSame = new Set(all.map(({ can }) => can.join())).size === 1;
    return (isSame ? all.slice(0, 1) : all).map(({ mode, can }) => ({
      title: [`${guide?.title ?? name}: ${CHANNELS[channel]}`, ...(isSame ? [] : [mode])].join(', '),
      can,
    }));
  });
}
