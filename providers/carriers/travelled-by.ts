import { Transport } from '#domain/messages/transport.ts';

/** How a message has travelled, by the service that its carrier names: `iMessage`, `RCS` or `SMS`. */
export function travelledBy(service: string | null | undefined): { transport?: Transport } {
  const { data: transport } = Transport.safeParse(service?.toLowerCase());
  return transport ? { transport } : {};
}
