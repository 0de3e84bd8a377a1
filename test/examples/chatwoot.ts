/** A helpdesk with the part of Chatwoot's API that the example uses: an inbox of the kind API, agents, and its webhooks. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { Test } from 'tap';

interface HelpdeskMessage {
  readonly id: number;
  readonly content: string;
  readonly message_type: 0 | 1;
  readonly private: boolean;
  readonly source_id: string | null;
  status: string;
  content_attributes: { external_error?: string };
}

export interface HelpdeskConversation {
  readonly id: number;
  readonly sourceId: string;
  readonly custom_attributes: Readonly<Record<string, string>>;
  readonly messages: HelpdeskMessage[];
  status: string;
}

type Body = Readonly<Record<string, any>>;
type Route = readonly [RegExp, (body: Body, ...parts: string[]) => unknown];

const pageSize = 2;
const token = 'token-of-an-agent';
const base = /^\/api\/v1\/accounts\/7/;
const inbox = /^\/public\/api\/v1\/inboxes\/inbox-identifier/;

export class Chatwoot {
  readonly conversations: HelpdeskConversation[] = [];
  readonly contacts = new Map<string, Body>();
  url = '';
  /** The address of the inbox's webhook. */
  webhook = '';
  /** Whether no message is marked any more, and the answer of one in three other changes is lost, though it is stored. */
  losesAnswers = false;
  requests = 0;
  #changes = 0;
  #messages = 0;

  static async start(t: Test): Promise<Chatwoot> {
    const chatwoot = new Chatwoot();
    const server = createServer((request, response) => void chatwoot.#answer(request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
    chatwoot.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return chatwoot;
  }

  get environment(): Record<string, string> {
    return {
      CHATWOOT_URL: this.url,
      CHATWOOT_TOKEN: token,
      CHATWOOT_INBOX: 'inbox-identifier',
      CHATWOOT_ACCOUNT: '7',
    };
  }

  of(sessionId: string): HelpdeskConversation | undefined {
    return this.conversations.find(({ sourceId }) => sourceId === sessionId);
  }

  /** Messages that are no notes, in short. */
  said(sessionId: string): string[] {
    const messages = this.of(sessionId)?.messages ?? [];
    return messages
      .filter((message) => !message.private)
      .map(({ message_type: type, content }) => `${type === 0 ? 'in' : 'out'}: ${content.trim()}`);
  }

  /** An agent answers. A webhook that fails marks the message as failed, as Chatwoot does in an inbox of this kind. */
  async reply(sessionId: string, content: string): Promise<HelpdeskMessage> {
    const conversation = this.of(sessionId)!;
    const message = this.#add(conversation, { content, message_type: 'outgoing' });
    await this.#notify(conversation, message);
    return message;
  }

  async resolve(sessionId: string): Promise<void> {
    await this.#setStatus(this.of(sessionId)!, 'resolved');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isChange = request.method !== 'GET';
    const body = isChange ? ((await json(request)) as Body) : {};
    this.requests++;
    if (this.losesAnswers && request.method === 'PATCH') return void response.destroy();
    const { pathname, searchParams } = new URL(request.url!, this.url);
    const isPublic = inbox.test(pathname);
    const path = `${request.method} ${pathname.replace(isPublic ? inbox : base, '')}`;
    if (!isPublic && request.headers['api_access_token'] !== token) return void response.writeHead(401).end('{}');
    const routes = isPublic ? this.#publicRoutes : this.#routes(searchParams);
    for (const [pattern, handle] of routes) {
      const parts = pattern.exec(path);
      if (parts === null) continue;
      const answer = handle(body, ...parts.slice(1));
      if (answer === undefined) break;
      if (this.losesAnswers && isChange && this.#changes++ % 3 === 0) return void response.destroy();
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      return;
    }
    response.writeHead(404).end('{"error":"Resource could not be found"}');
  }

  readonly #publicRoutes: readonly Route[] = [
    [
      /^POST \/contacts$/,
      (body) => {
        if (!this.contacts.has(body['source_id'])) this.contacts.set(body['source_id'], body);
        return { source_id: body['source_id'], name: body['name'] };
      },
    ],
    [
      /^GET \/contacts\/(\w+)\/conversations$/,
      (_body, id) =>
        this.contacts.has(id)
          ? this.conversations.filter(({ sourceId }) => sourceId === id).map(({ id: number }) => ({ id: number }))
          : undefined,
    ],
    [
      /^POST \/contacts\/(\w+)\/conversations$/,
      ({ custom_attributes }, sourceId) => {
        const id = this.conversations.length + 1;
        this.conversations.push({ id, sourceId: sourceId, custom_attributes, messages: [], status: 'open' });
        return { id };
      },
    ],
  ];

  #routes(query: URLSearchParams): readonly Route[] {
    const found = (id: string | undefined): HelpdeskConversation | undefined => this.conversations[Number(id) - 1];
    const conversations = (): object => {
      const open = this.conversations.filter(({ status }) => status === query.get('status'));
      const from = (Number(query.get('page')) - 1) * pageSize;
      return { data: { meta: {}, payload: open.slice(from, from + pageSize) } };
    };
    return [
      [/^GET \/conversations$/, conversations],
      [/^GET \/conversations\/(\d+)$/, (_body, id) => found(id)],
      [
        /^GET \/conversations\/(\d+)\/messages$/,
        (_body, id) => {
          const later = found(id)?.messages.filter((message) => message.id > Number(query.get('after')));
          return later && { meta: {}, payload: later.slice(0, pageSize) };
        },
      ],
      [
        /^POST \/conversations\/(\d+)\/messages$/,
        (body, id) => {
          const conversation = found(id)!;
          if (body['message_type'] === 'incoming' && conversation.status === 'resolved') conversation.status = 'open';
          const message = this.#add(conversation, body);
          void this.#notify(conversation, message);
          return message;
        },
      ],
      [
        /^PATCH \/conversations\/(\d+)\/messages\/(\d+)$/,
        ({ status, external_error }, id, number) => {
          const message = found(id)!.messages.find((one) => one.id === Number(number))!;
          message.status = status;
          message.content_attributes = status === 'failed' ? { external_error } : {};
          return message;
        },
      ],
      [
        /^POST \/conversations\/(\d+)\/toggle_status$/,
        ({ status }, id) => {
          void this.#setStatus(found(id)!, status);
          return { payload: { success: true, current_status: status } };
        },
      ],
    ];
  }

  #add(conversation: HelpdeskConversation, body: Body): HelpdeskMessage {
    const message: HelpdeskMessage = {
      id: ++this.#messages,
      content: body['content'],
      message_type: body['message_type'] === 'incoming' ? 0 : 1,
      private: body['private'] ?? false,
      source_id: body['source_id'] ?? null,
      status: 'sent',
      content_attributes: {},
    };
    conversation.messages.push(message);
    return message;
  }

  async #setStatus(conversation: HelpdeskConversation, status: string): Promise<void> {
    if (conversation.status === status) return;
    conversation.status = status;
    await this.#post({ event: 'conversation_status_changed', ...this.#shown(conversation) }).catch(() => {});
  }

  async #notify(conversation: HelpdeskConversation, message: HelpdeskMessage): Promise<void> {
    const event = { event: 'message_created', ...message, conversation: this.#shown(conversation) };
    await this.#post({ ...event, message_type: message.message_type === 0 ? 'incoming' : 'outgoing' }).catch(
      (error: Error) => {
        message.status = 'failed';
        message.content_attributes = { external_error: error.message };
      },
    );
  }

  #shown({ id, sourceId, status, custom_attributes }: HelpdeskConversation): object {
    return { id, status, custom_attributes, contact_inbox: { source_id: sourceId } };
  }

  /** Sends an event once. */
  async #post(event: object): Promise<void> {
    const body = JSON.stringify(event);
    const response = await fetch(this.webhook, { method: 'POST', body });
    if (!response.ok) throw new Error(`${response.status}`);
  }
}
