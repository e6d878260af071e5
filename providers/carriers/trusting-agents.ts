import { rootCertificates } from 'node:tls';
import type { Agent } from 'undici';

const MAX_AGENTS = 100;

/** Connections to servers with certificates of an authority of their own, by its certificates. */
export interface TrustingAgents {
  /** @param pem the certificates, which count besides the public ones. */
  of(pem: string): Agent;
  destroy(): Promise<void>;
}

/** @param open opens connections that trust these certificates. */
export function createTrustingAgents(open: (ca: string[]) => Agent): TrustingAgents {
  const agents = new Map<string, Agent>();
  return {
    of(pem) {
      const trusting = agents.get(pem) ?? open([...rootCertificates, pem]);
      if (agents.size >= MAX_AGENTS && !agents.has(pem)) {
        const [oldest] = agents;
        if (oldest) {
          agents.delete(oldest[0]);
          void oldest[1].close();
        }
      }
      agents.set(pem, trusting);
      return trusting;
    },
    async destroy() {
      await Promise.all([...agents.values()].map((agent) => agent.destroy()));
    },
  };
}
