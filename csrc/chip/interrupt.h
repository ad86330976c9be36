// SPDX-License-Identifier: MIT
// What does Ctrl-C do to a launch? It ends it, as the time limit does, where the process would be interrupted too.
#pragma once

#include <cstdint>

namespace ascend {

// Whether an interrupt (SIGINT) is to end launches. Asked on a thread of its own, so it may wait for locks.
using AskInterrupt = bool (*)();

// Before the first launch. Without it, SIGINT is not looked at.
void set_ask_interrupt(AskInterrupt ask);

// Puts itself in front of the handler that SIGINT has now, unless that is the system's own. Called by every launch: programs
// change their handlers.
void watch_interrupts();

// How many interrupts so far were to end launches. A launch compares; safe in a signal handler.
uint32_t interrupts() noexcept;

}  // namespace ascend
