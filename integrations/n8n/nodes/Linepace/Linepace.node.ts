import { NodeConnectionTypes, type INodeType, type INodeTypeDescription } from 'n8n-workflow';
import { campaignDescription } from './resources/campaign';
import { conversationDescription } from './resources/conversation';
import { draftDescription } from './resources/draft';
import { leadDescription } from './resources/lead';
import { messageDescription } from './resources/message';
import { optOutDescription } from './resources/optOut';

export class Linepace implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Linepace',
    name: 'linepace',
    icon: { light: 'file:../../icons/linepace.svg', dark: 'file:../../icons/linepace.dark.svg' },
    group: ['output'],
    version: 1,
    subtitle: '={{$parameter["operation"] + ": " + $parameter["resource"]}}',
    description: 'Send iMessage, SMS and email, and run campaigns',
    defaults: { name: 'Linepace' },
    usableAsTool: true,
    inputs: [NodeConnectionTypes.Main],
    outputs: [NodeConnectionTypes.Main],
    credentials: [{ name: 'linepaceApi', required: true }],
    requestDefaults: {
      baseURL: '={{$credentials.baseUrl.replace(/\\/+$/, "")}}',
      headers: { Accept: 'application/json', 'Content-Type': 'application/json' },
    },
    properties: [
      {
        displayName: 'Resource',
        name: 'resource',
        type: 'options',
        noDataExpression: true,
        options: [
          { name: 'Campaign', value: 'campaign' },
          { name: 'Conversation', value: 'conversation' },
          { name: 'Draft', value: 'draft' },
          { name: 'Lead', value: 'lead' },
          { name: 'Message', value: 'message' },
          { name: 'Opt-Out', value: 'optOut' },
        ],
        default: 'message',
      },
      ...campaignDescription,
      ...conversationDescription,
      ...draftDescription,
      ...leadDescription,
      ...messageDescription,
      ...optOutDescription,
    ],
  };
}
