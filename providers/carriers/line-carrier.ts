import type { SecretBox } from '../secret-box.ts';
import { secretContext } from '../secret-box.ts';
import type { Carrier } from './carrier.ts';
import type { CarrierRegistry } from './registry.ts';
import { openConfig } from './secret-config.ts';

/** A line's carrier and its decrypted settings. */
export function lineCarrier(
  { carriers, secrets }: { carriers: CarrierRegistry; secrets: SecretBox },
  line: { id: string; workspaceId: string; carrier: string; carrierConfig: Record<string, unknown> },
): { carrier: Carrier; config: unknown } {
  const carrier = carriers.get(line.carrier);
  const context = secretContext('line', line.workspaceId, line.id);
  return {
    carrier,
    config: openConfig(carrier.config, line.carrierConfig, (sealed) => secrets.open(sealed, context)),
  };
}

/** Checks an address at the carrier of a line. */
export const askCarrier =
  (parts: Parameters<typeof lineCarrier>[0]) =>
  async (line: Parameters<typeof lineCarrier>[1], address: string) => {
    const { carrier, config } = lineCarrier(parts, line);
    return (await carrier.checkAvailability(config, address)).status;
  };

/** The callback URL of a line. */
export const callbackAddress = (publicUrl: string, carrier: Pick<Carrier, 'name'>, lineId: string): string =>
  `${publicUrl}/callbacks/carriers/${carrier.name}/${lineId}`;
