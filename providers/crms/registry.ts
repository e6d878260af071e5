import type { Crms } from './crm.ts';
import { createHubSpot, type HubSpotOptions } from './hubspot.ts';

export interface CrmOptions {
  crms: { hubspot: HubSpotOptions };
}

export const createCrms = ({ crms }: CrmOptions): Crms => ({ hubspot: createHubSpot(crms.hubspot) });
