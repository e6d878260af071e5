/**
 * The catalogs of texts that each folder of pages needs: its own, and those of the folders that it imports from
 * (catalogs.test.ts checks that). `lingui.config.ts` says which files a catalog is extracted from.
 */
export const PAGE_CATALOGS = {
  home: ['home', 'contacts', 'lines', 'messages', 'settings', 'webhooks'],
  inbox: ['inbox', 'contacts'],
  lines: ['lines'],
  contacts: ['contacts', 'inbox'],
  campaigns: ['campaigns'],
  messages: ['messages'],
  webhooks: ['webhooks'],
  requests: ['requests'],
  analytics: ['analytics'],
  compliance: ['compliance', 'analytics', 'contacts', 'inbox', 'lines'],
  settings: ['settings', 'campaigns'],
  operations: ['operations'],
  agency: ['agency', 'lines', 'settings', 'webhooks'],
} as const satisfies Record<string, readonly string[]>;

export type PageFolder = keyof typeof PAGE_CATALOGS;
/** `shell`: what every page has. */
export type Catalog = PageFolder | 'shell';
