import {
  NodeApiError,
  NodeConnectionTypes,
  type IDataObject,
  type IHookFunctions,
  type IHttpRequestMethods,
  type INodeType,
  type INodeTypeDescription,
  type JsonObject,
  type IWebhookFunctions,
  type IWebhookResponseData,
} from 'n8n-workflow';
import { EVENTS } from './events';
import { isGenuine } from './signature';

/** What the node remembers of the webhook that it registered. */
interface Registered extends IDataObject {
  webhookId?: string;
  secret?: string;
}

async function request<T>(
  of: IHookFunctions,
  method: IHttpRequestMethods,
  path: string,
  body?: IDataObject,
): Promise<T> {
  const { baseUrl } = await of.getCredentials<{ baseUrl: string }>('linepaceApi');
  return (await of.helpers.httpRequestWithAuthentication.call(of, 'linepaceApi', {
    method,
    url: `${baseUrl.replace(/\/+$/, '')}${path}`,
    body,
    json: true,
  })) as T;
}

const isMissing = (error: unknown): boolean => {
  const { httpCode, response } = error as { httpCode?: string; response?: { status?: number } };
  return httpCode === '404' || response?.status === 404;
};

export class LinepaceTrigger implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Linepace Trigger',
    name: 'linepaceTrigger',
    icon: { light: 'file:../../icons/linepace.svg', dark: 'file:../../icons/linepace.dark.svg' },
    group: ['trigger'],
    version: 1,
    subtitle: '={{$parameter["events"].join(", ")}}',
    description: 'Starts a workflow when a contact replies, a message is sent, and at other events',
    defaults: { name: 'Linepace Trigger' },
    inputs: [],
    outputs: [NodeConnectionTypes.Main],
    credentials: [{ name: 'linepaceApi', required: true }],
    webhooks: [{ name: 'default', httpMethod: 'POST', responseMode: 'onReceived', path: 'webhook' }],
    properties: [
      {
        displayName: 'Events',
        name: 'events',
        type: 'multiOptions',
        required: true,
        options: EVENTS,
        default: ['message.reply'],
      },
      {
        displayName: 'Filters',
        name: 'filters',
        type: 'collection',
        placeholder: 'Add Filter',
        default: {},
        options: [
          {
            displayName: 'Campaign IDs',
            name: 'campaignIds',
            type: 'string',
            default: '',
            description: 'Only events about these campaigns, separated by commas',
          },
          {
            displayName: 'Line IDs',
            name: 'lineIds',
            type: 'string',
            default: '',
            description: 'Only events about these lines, separated by commas',
          },
          {
            displayName: 'Tags',
            name: 'tags',
            type: 'string',
            default: '',
            description: 'Only events about contacts with one of these tags, separated by commas',
          },
        ],
      },
    ],
    usableAsTool: undefined,
  };

  webhookMethods = {
    default: {
      async checkExists(this: IHookFunctions): Promise<boolean> {
        const stored = this.getWorkflowStaticData('node') as Registered;
        if (!stored.webhookId) return false;
        try {
          const { webhook } = await request<{ webhook: { url: string; isActive: boolean } }>(
            this,
            'GET',
            `/api/webhooks/${stored.webhookId}`,
          );
          return webhook.isActive && webhook.url === this.getNodeWebhookUrl('default');
        } catch (error) {
          if (isMissing(error)) return false;
          throw new NodeApiError(this.getNode(), error as JsonObject);
        }
      },

      async create(this: IHookFunctions): Promise<boolean> {
        const filters = this.getNodeParameter('filters', {}) as Record<string, string>;
        const lists = Object.entries(filters).map(([name, value]) => [
          name,
          value
            .split(',')
            .map((text) => text.trim())
            .filter((text) => text !== ''),
        ]);
        const { webhook, secret } = await request<{
          webhook: { _id: string; secret?: string };
          secret?: string;
        }>(this, 'POST', '/api/webhooks', {
          url: this.getNodeWebhookUrl('default'),
          name: `n8n: ${this.getWorkflow().name ?? this.getWorkflow().id ?? 'workflow'}`.slice(0, 200),
          events: this.getNodeParameter('events') as string[],
          retries: 'standard',
          ...(Object.fromEntries(lists) as IDataObject),
        });
        Object.assign(this.getWorkflowStaticData('node'), {
          webhookId: webhook._id,
          secret: secret ?? webhook.secret,
        } satisfies Registered);
        return true;
      },

      async delete(this: IHookFunctions): Promise<boolean> {
        const stored = this.getWorkflowStaticData('node') as Registered;
        if (stored.webhookId) {
          try {
            await request(this, 'DELETE', `/api/webhooks/${stored.webhookId}`);
          } catch (error) {
            if (!isMissing(error)) throw new NodeApiError(this.getNode(), error as JsonObject);
          }
        }
        delete stored.webhookId;
        delete stored.secret;
        return true;
      },
    },
  };

  async webhook(this: IWebhookFunctions): Promise<IWebhookResponseData> {
    const { secret } = this.getWorkflowStaticData('node') as Registered;
    const { rawBody } = this.getRequestObject() as { rawBody?: Buffer };
    const now = Math.floor(Date.now() / 1000);
    if (!secret || !rawBody || !isGenuine(secret, rawBody, this.getHeaderData(), now)) {
      this.getResponseObject().status(401).json({ error: 'The signature is not valid' });
      return { noWebhookResponse: true };
    }
    const body = this.getBodyData();
    if (body.event === 'webhook.ping') return { webhookResponse: { received: true } };
    return { workflowData: [this.helpers.returnJsonArray(body)] };
  }
}
