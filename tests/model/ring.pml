/* SPDX-License-Identifier: MIT */
/*
 * ring.pml - one session, from submit to completion, under failures.
 *
 * Spin checks it over every interleaving within the bounds below; run.sh runs
 * it, for the protocol as designed and for mutants of it that must fail.
 *
 * Processes: the trader (the engine's thread: submits, polls, times out), the
 * service (its cold thread: attaches again), agents, one signer, whatever kills
 * the agents, and the store buffers of the publishers.
 *
 * Memory. Publishing is two stores, record and slot word, that wait in a store
 * buffer and become visible in any order, but for what release forbids: a word
 * before its own record. Nothing else is ordered, not even one word before the
 * next, so this is weaker than release is, and far weaker than x86. Takers load
 * the word, then the record, as two steps in program order, which is acquire.
 * The record is one cell and stands for each of its bytes in turn: they do not
 * depend on each other, and a record is torn when one of them is stale. What
 * the threads of one process hand over (link, parked) goes by release and
 * acquire and is sequential here. Sleep flags are not modelled.
 *
 * Numbers. Slot words are modulo MODULO and start just below its wrap, in the
 * last slot but two. Records hold the number itself, so a stale one shows.
 *
 * Failures. An agent is killed between any two of its steps; what its store
 * buffer still holds is lost, which covers a death in the middle of a publish.
 * Or it is let go alive (SIGSTOP, replaced, SIGCONT) and goes on beside its
 * successor with the old epoch: it may meet overwritten slots, and nothing it
 * does may have an effect. The stream of the current agent breaks and loses
 * both directions. The trader's clock runs out for any submit at any time. The
 * agent finds a deadline passed (EXPIRED) and answers out of turn, which leaves
 * a gap that the signer makes VOID. A client's death is not modelled: its
 * session ends with it. Nor is the signer's: every submit is then UNKNOWN.
 *
 * Properties. By assertion: no torn or stale record is judged; no impossible
 * slot word (-EPROTO) between honest peers; no submit is answered twice; no
 * number is signed twice; none is signed that the caller was told is not. By
 * the search for invalid end states: the trader ends, and only when all N
 * submits are answered and popped. By the search for cycles without progress,
 * where nothing is marked as progress: no run is infinite. So with finitely
 * many failures each submit is answered exactly once.
 *
 * Bounds, by -D: DEPTH slots, MODULO of slot words, N submits (at most 15),
 * FAULTS (deaths and let-goes; LETGO=0: deaths only), LOSSES of a stream,
 * TIMEOUTS of the trader, EXPIRIES by agents. run.sh has the sets that are run.
 */
#define AGENTS (FAULTS + 1)
#define FIRST (MODULO - 3)
#define WORD(n) ((FIRST + (n)) % MODULO)
#define BEFORE(n) ((FIRST + (n) + MODULO - DEPTH) % MODULO)
#define SLOT(n) (WORD(n) % DEPTH)
#define BIT(i) (1 << (i))
#define AT(e, i) ((e) * DEPTH + (i))
#define NONE 255
#define OPEN 255 /* on a stream, in place of a number */

/* What half a of a completion says besides its number. */
#define SIGNED 0
#define VOIDED 64
#define EXPIRED 128
#define NUMBER(a) ((a) & 63)
#define STATUS(a) ((a) & 192)

#if defined(MUTANT_CREDIT)
#define CREDIT (submitted - answered <= DEPTH)
#elif defined(MUTANT_UNKNOWN)
#define CREDIT (submitted - completed < DEPTH)
#else
#define CREDIT (submitted - answered < DEPTH)
#endif

#ifdef MUTANT_PARK
#define PARKED true
#else
#define PARKED (parked == link)
#endif

#ifdef MUTANT_PEEK
#define MAY_POP true
#else
#define MAY_POP (!frozen)
#endif

/* Nobody will look at agent e's region again: its stores are left out. */
#if defined(MUTANT_PARK) || defined(MUTANT_PEEK)
#define UNREAD(e) (region > e)
#else
#define UNREAD(e) (epoch > e)
#endif

#ifdef MUTANT_EPOCH
#define STALE(e) false
#else
#define STALE(e) (e < signer_epoch)
#endif

#ifdef MUTANT_EXPIRE
#define NEVER_SENT(n) true
#else
#define NEVER_SENT(n) (n >= known)
#endif

#ifdef MUTANT_CACHE
#define REPEAT(n) sign(n)
#else
#define REPEAT(n) assert((was_signed | was_void) & BIT(n))
#endif

/* The submission region as others see it, and the trader's store buffer: by
 * slot, the number on its way and which of its stores are not visible yet. */
byte sub_word[DEPTH], sub_record[DEPTH];
byte sub_new[DEPTH];
byte sub_late_word, sub_late_record;

/* The completion regions, one an agent, and the agents' store buffers. */
byte cmp_word[AGENTS * DEPTH], cmp_record[AGENTS * DEPTH];
byte cmp_new[AGENTS * DEPTH];
byte cmp_late_word[AGENTS], cmp_late_record[AGENTS];

/* May slot i's word become visible, with those records still on their way? */
#ifdef MUTANT_RELEASE
#define VISIBLE(late_record, i) true
#else
#define VISIBLE(late_record, i) (!((late_record) & BIT(i)))
#endif

/* The trader's private memory. */
byte submitted;
byte answered;  /* popped for good: returns the credit */
byte completed; /* answers given to the caller, the signer's or our own */
short given;    /* which */
short told_unsigned;
byte region; /* completion region that it polls */
bool frozen; /* has seen the link down: neither submits nor pops */

/* Between the trader's thread and the service's (ring/client/sr_client.h). */
byte link = 1; /* odd is up */
byte parked;   /* the link under which the trader froze */

/* The agents. The client's attach epoch is the number of the current one. */
byte epoch;
bool dead[AGENTS], opened[AGENTS];
byte faults = FAULTS, losses = LOSSES, expiries = EXPIRIES, timeouts = TIMEOUTS;
chan request[AGENTS] = [DEPTH + 1] of { byte, bool }; /* number, spoiled */
chan reply[AGENTS] = [DEPTH + 1] of { byte };

/* The signer: the highest epoch opened, the number it expects, and its cache,
 * a bit a number. What it must still hold is asserted, not evicted. */
byte signer_epoch, signer_next;
short was_signed, was_void;

/* Three stores into the buffer: in which order is the buffer's affair. */
inline submit()
{
	d_step {
		sub_new[SLOT(submitted)] = submitted;
		sub_late_record = sub_late_record | BIT(SLOT(submitted));
		sub_late_word = sub_late_word | BIT(SLOT(submitted));
		submitted++
	}
}

/* The same by agent e, unless nobody will ever look at its region again. Stores
 * to one place stay in order: those of the slot's last message come first, which
 * only a mutant ever has to wait for. */
inline publish(e, n, status)
{
	!((cmp_late_record[e] | cmp_late_word[e]) & BIT(SLOT(n)));
	d_step {
		if
		:: UNREAD(e) -> skip
		:: else ->
			cmp_new[AT(e, SLOT(n))] = n + status;
			cmp_late_record[e] = cmp_late_record[e] | BIT(SLOT(n));
			cmp_late_word[e] = cmp_late_word[e] | BIT(SLOT(n))
		fi;
		assert(!(over & BIT(n)));
		over = over | BIT(n);
		do
		:: over & BIT(done) -> done++
		:: else -> break
		od;
		skip
	}
}

/* One answer to the caller; more than one would show here. */
inline give(n)
{
	assert(!(given & BIT(n)));
	given = given | BIT(n);
	completed++
}

/* The trader judges its copy of a completion. */
inline pop(a)
{
	d_step {
		assert(NUMBER(a) == answered);
		assert(STATUS(a) != SIGNED || (was_signed & BIT(answered)));
		if
		:: given & BIT(answered) -> skip /* was given UNKNOWN: swallowed */
		:: else ->
			give(answered);
			if
			:: STATUS(a) != SIGNED ->
				assert(!(was_signed & BIT(answered)));
				told_unsigned = told_unsigned | BIT(answered)
			:: else
			fi
		fi;
		answered++;
		a = 0
	}
}

/* What agent e has published and not stored goes, or is of no use. */
inline forget(e)
{
	cmp_late_record[e] = 0;
	cmp_late_word[e] = 0;
	for (i : 0 .. DEPTH - 1) {
		cmp_new[AT(e, i)] = 0;
		if
		:: UNREAD(e) ->
			cmp_word[AT(e, i)] = 0;
			cmp_record[AT(e, i)] = 0
		:: else
		fi
	}
	i = 0
}

inline hang_up(e)
{
	do
	:: nempty(request[e]) -> request[e]?_, _
	:: nempty(reply[e]) -> reply[e]?_
	:: empty(request[e]) && empty(reply[e]) -> break
	od
}

#define CMP_WORD cmp_word[AT(region, SLOT(answered))]

proctype Trader()
{
	byte a, i;

	do
	:: !frozen && submitted < N && CREDIT &&
	   !((sub_late_record | sub_late_word) & BIT(SLOT(submitted))) ->
		submit()
	:: MAY_POP && CMP_WORD == WORD(answered) ->
		a = cmp_record[AT(region, SLOT(answered))];
		pop(a)
	:: MAY_POP && CMP_WORD != WORD(answered) && CMP_WORD != BEFORE(answered) ->
		assert(false) /* EPROTO */
	:: atomic { timeouts > 0 && completed < submitted ->
		timeouts--;
		a = answered;
		do
		:: !(given & BIT(a)) ->
			give(a);
			break
		:: a + 1 < submitted -> a++
		:: else -> break
		od;
		a = 0 }
	:: d_step { link % 2 == 0 && parked != link ->
		frozen = true;
		parked = link }
	:: d_step { link % 2 == 1 && region != epoch ->
		region = epoch;
		frozen = false }
	:: answered == N ->
		break
	od;
	assert(given == BIT(N) - 1)
}

/* The client's cold thread: attaches again after a death, or at a whim. */
proctype Service()
{
	byte next, published, i;

end:	do
	:: d_step { epoch < FAULTS && (dead[epoch] || (faults > 0 && LETGO)) ->
		if
		:: dead[epoch]
		:: else -> faults--
		fi;
		if
		:: link % 2 == 1 -> link++
		:: else
		fi }
end_park:	PARKED;
		next = answered;
		published = submitted;
		d_step {
			epoch++;
			for (i : 0 .. DEPTH - 1) {
				cmp_word[AT(epoch, SLOT(next + i))] = BEFORE(next + i)
			}
			i = 0;
			if
			:: UNREAD(epoch - 1) -> forget(epoch - 1)
			:: else
			fi
		}
		run Agent(epoch, next, published);
		next = 0;
		published = 0;
end_wait:	if
		:: d_step { opened[epoch] && !dead[epoch] -> link++ }
		:: dead[epoch]
		fi
	od
}

#define SUB_WORD sub_word[SLOT(sent)]

proctype Agent(byte e; byte next; byte known)
{
	byte a, i;
	byte sent = next;            /* next message to take */
	byte done = next;            /* first one without a completion */
	short over = BIT(next) - 1;  /* those with one: by EXPIRED out of turn */
	bool up;                     /* known: messages before it may be signed */

	{
		request[e]!OPEN, false;
end:		do
		:: d_step { up && (over & BIT(sent)) -> sent++ } /* never looked at again */
#ifdef MUTANT_ACQUIRE
		:: up && !(over & BIT(sent)) ->
			a = sub_record[SLOT(sent)];
			if
			:: SUB_WORD == WORD(sent)
			:: else -> goto end
			fi;
#else
		:: up && !(over & BIT(sent)) && SUB_WORD == WORD(sent) ->
			a = sub_record[SLOT(sent)];
#endif
			/* Only one that was replaced may see a slot reused. */
			assert(a == sent || e < epoch);
			if
			:: atomic { expiries > 0 && NEVER_SENT(sent) && e == epoch ->
				expiries--;
				publish(e, sent, EXPIRED);
				sent++ }
			:: atomic { request[e]!sent, (a != sent);
				sent++;
				known = (known > sent -> known : sent) }
			fi;
			a = 0
		:: up && !(over & BIT(sent)) && SUB_WORD != WORD(sent) && SUB_WORD != BEFORE(sent) ->
			assert(e < epoch); /* EPROTO */
			break
		:: atomic { reply[e]?a ->
			if
			:: a == OPEN ->
				up = true;
				opened[e] = true
			:: else ->
				publish(e, NUMBER(a), STATUS(a))
			fi;
			a = 0 }
		:: atomic { losses > 0 && e == epoch ->
			losses--;
			hang_up(e);
			sent = done;
			up = false;
			request[e]!OPEN, false }
		od
	} unless {
		dead[e]
	}
}

inline sign(n)
{
	assert(!(was_signed & BIT(n)));
	assert(!(told_unsigned & BIT(n)));
	was_signed = was_signed | BIT(n)
}

/* One frame of agent e's stream. Nothing here is visible to others until the
 * reply is, so it is one step. */
inline judge(e)
{
	if
	:: n == OPEN ->
		if
		:: e >= signer_epoch ->
			signer_epoch = e;
			reply[e]!OPEN
		:: else
		fi
	:: n != OPEN && STALE(e)
	:: n != OPEN && !STALE(e) ->
		assert(!spoiled);
		if
		:: n < signer_next ->
			assert(n + DEPTH >= signer_next);
			REPEAT(n)
		:: else ->
			do
			:: signer_next < n ->
				was_void = was_void | BIT(signer_next);
				signer_next++
			:: else -> break
			od;
			sign(n);
			signer_next++
		fi;
		reply[e]!(n + (was_void & BIT(n) -> VOIDED : SIGNED))
	fi;
	n = 0;
	spoiled = false
}

proctype Signer()
{
	byte n;
	bool spoiled;

end:	do
	:: atomic { request[0]?n, spoiled -> judge(0) }
#if AGENTS > 1
	:: atomic { request[1]?n, spoiled -> judge(1) }
#endif
#if AGENTS > 2
	:: atomic { request[2]?n, spoiled -> judge(2) }
#endif
	od
}

/* Kills agents; and at some point decides that nothing fails any more, so that
 * no end is hidden behind a failure that might still come. */
proctype Fate()
{
	byte i;

end:	do
	:: d_step { faults > 0 && !dead[epoch] ->
		faults--;
		dead[epoch] = true;
		hang_up(epoch);
		forget(epoch) }
	:: d_step { faults + losses + timeouts + expiries > 0 ->
		faults = 0;
		losses = 0;
		timeouts = 0;
		expiries = 0 }
	od
}

#define SUB_DRAIN(i) \
	:: d_step { sub_late_record & BIT(i) -> \
		sub_late_record = sub_late_record & ~BIT(i); \
		sub_record[i] = sub_new[i] } \
	:: d_step { (sub_late_word & BIT(i)) && VISIBLE(sub_late_record, i) -> \
		sub_late_word = sub_late_word & ~BIT(i); \
		sub_word[i] = WORD(sub_new[i]) }

#define CMP_DRAIN(e, i) \
	:: d_step { cmp_late_record[e] & BIT(i) -> \
		cmp_late_record[e] = cmp_late_record[e] & ~BIT(i); \
		cmp_record[AT(e, i)] = cmp_new[AT(e, i)] } \
	:: d_step { (cmp_late_word[e] & BIT(i)) && VISIBLE(cmp_late_record[e], i) -> \
		cmp_late_word[e] = cmp_late_word[e] & ~BIT(i); \
		cmp_word[AT(e, i)] = WORD(NUMBER(cmp_new[AT(e, i)])) }

proctype Buffers()
{
end:	do
	SUB_DRAIN(0)
	SUB_DRAIN(1)
	CMP_DRAIN(0, 0)
	CMP_DRAIN(0, 1)
#if AGENTS > 1
	CMP_DRAIN(1, 0)
	CMP_DRAIN(1, 1)
#endif
#if AGENTS > 2
	CMP_DRAIN(2, 0)
	CMP_DRAIN(2, 1)
#endif
#if DEPTH > 2
	SUB_DRAIN(2)
	SUB_DRAIN(3)
	CMP_DRAIN(0, 2)
	CMP_DRAIN(0, 3)
#if AGENTS > 1
	CMP_DRAIN(1, 2)
	CMP_DRAIN(1, 3)
#endif
#if AGENTS > 2
	CMP_DRAIN(2, 2)
	CMP_DRAIN(2, 3)
#endif
#endif
	od
}

init
{
	byte i;

	d_step {
		for (i : 0 .. DEPTH - 1) {
			sub_word[SLOT(i)] = BEFORE(i);
			cmp_word[AT(0, SLOT(i))] = BEFORE(i)
		}
		i = 0
	}
	atomic {
		run Buffers();
		run Signer();
		run Fate();
		run Agent(0, 0, 0);
		run Service();
		run Trader()
	}
}
