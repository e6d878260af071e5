import { expect } from 'vitest';
import type { ApiClient } from './client.ts';

/** What tests of connected CRMs ask of a workspace, which they may change. */
export function crmHelpers(workspace: () => { api: ApiClient }) {
  const get = (path: string) => workspace().api('GET', path);
  return {
    get,
    leadWith: async (address: string) =>
      (await get(`/api/leads?search=${encodeURIComponent(address)}`)).body.leads[0],
    isOptedOut: async (address: string) =>
      (await get(`/api/opt-outs/${encodeURIComponent(address)}`)).body.optedOut,
    connectionOf: async (id: string) => (await get(`/api/crm-connections/${id}`)).body,
    logOf: async (id: string, outcome: string) =>
      (await get(`/api/crm-connections/${id}/log?outcome=${outcome}`)).body.entries,
    /** Takes over only what changes from now on, unless `importExisting` is set. @returns the id of the connection. */
    async connectCrm(input: object): Promise<string> {
      const body = { importExisting: false, ...input };
      const response = await workspace().api('POST', '/api/crm-connections', body);
      expect(response.status, JSON.stringify(response.body)).toBe(201);
      return response.body._id;
    },
    async disconnectAll(): Promise<void> {
      const { crmConnections } = (await get('/api/crm-connections')).body;
      for (const { _id } of crmConnections) await workspace().api('DELETE', `/api/crm-connections/${_id}`);
    },
  };
}
