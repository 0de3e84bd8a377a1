/**
 * The charges of a turn to the limits that paid for it: a visitor's (contract 9) and the token budget of a key (contract
 * 19). Its end and its withdrawal settle them in their own step.
 */
import * as linkUse from '../host/link-budget.ts';
import { settlementOf } from '../host/token-budget.ts';
import type { Session, Turn } from '../store/store.ts';

type Tokens = Pick<Turn, 'inputTokens' | 'outputTokens'>;

/** Settles the charges of a turn that ends at `at`. `begun`: its record before the end; `used`: its tokens. */
export const sealSettlement = (session: Session, begun: Turn, used: Tokens, at: number): linkUse.Settlement =>
  withTokens(linkUse.sealSettlement(session, begun, at), begun, totalOf(used));

/**
 * Refunds the charges of a withdrawn turn. `turn`: its record with what it was charged; if it has ended, its tokens were
 * settled then.
 */
export const withdrawalSettlement = (session: Session, turn: Turn): linkUse.Settlement =>
  withTokens(
    linkUse.withdrawn(session, turn),
    turn,
    turn.endedAt === null || turn.reserved === undefined ? 0 : turn.reserved.tokens - totalOf(turn),
  );

const totalOf = ({ inputTokens, outputTokens }: Tokens): number => inputTokens + outputTokens;

const withTokens = (settlement: linkUse.Settlement, { reserved }: Turn, used: number): linkUse.Settlement =>
  reserved === undefined
    ? settlement
    : { ...settlement, settled: [...(settlement.settled ?? []), settlementOf(reserved, used)] };
