import type { Crms } from './crm.ts';
import { createHighLevel, type HighLevelOptions } from './highlevel.ts';
import { createHubSpot, type HubSpotOptions } from './hubspot.ts';

export interface CrmOptions {
  crms: { hubspot: HubSpotOptions; highlevel: HighLevelOptions };
}

export const createCrms = ({ crms }: CrmOptions): Crms => ({
  hubspot: createHubSpot(crms.hubspot),
  highlevel: createHighLevel(crms.highlevel),
});
