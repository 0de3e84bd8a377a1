/** The pages of forms and lists: small, and loaded together. */
export { default as assistant } from './assistant.tsx';
export { default as assistants } from './assistants.tsx';
export { default as audit } from './audit.tsx';
export { default as credentials } from './credentials.tsx';
export { default as key } from './key.tsx';
export { default as keys } from './keys.tsx';
export { default as load } from './load.tsx';
export { default as people } from './people.tsx';
export { default as session } from './session.tsx';
export { default as sessions } from './sessions.tsx';
export { default as tool } from './tool.tsx';
export { default as tools } from './tools.tsx';
export { default as usage } from './usage.tsx';
export { default as webhook } from './webhook.tsx';
export { default as webhooks } from './webhooks.tsx';
export { default as workspaces } from './workspaces.tsx';
