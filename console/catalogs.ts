/**
 * The catalogs of texts that each folder of pages needs: its own, and those of the folders that it imports from, without its
 * parts (catalogs.test.ts checks that). `lingui.config.ts` says which files a catalog is extracted from.
 */
export const PAGE_CATALOGS = {
  home: ['home'],
  inbox: ['inbox'],
  lines: ['lines'],
  contacts: ['contacts', 'inbox'],
  campaigns: ['campaigns'],
  messages: ['messages'],
  webhooks: ['webhooks'],
  requests: ['requests'],
  analytics: ['analytics'],
  compliance: ['compliance'],
  settings: ['settings', 'campaigns'],
  operations: ['operations'],
  agency: ['agency', 'settings', 'webhooks'],
} as const satisfies Record<string, readonly string[]>;

/** The further catalogs of what is loaded when a page shows it first, by the file that it begins with. */
export const PART_CATALOGS = {
  'agency/agency-lines': ['lines'],
  'home/setup/setup': ['contacts', 'lines', 'settings', 'webhooks'],
  'inbox/contact-drawer': ['contacts'],
  'inbox/explanation': ['messages'],
  'contacts/lead-campaigns': ['campaigns'],
  'contacts/judged': ['campaigns'],
  'compliance/email-lines': ['lines'],
  'compliance/opt-outs': ['analytics', 'contacts', 'inbox'],
} as const satisfies Record<string, readonly string[]>;

export type PagePart = keyof typeof PART_CATALOGS;
export type PageFolder = keyof typeof PAGE_CATALOGS;
/** `shell`: what every page has. */
export type Catalog = PageFolder | 'shell';
