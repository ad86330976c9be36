// SPDX-License-Identifier: MIT
// Who answers a SIGINT? The handler that was there, and a thread that sleeps until then: asking takes locks, which a handler must not.
#include "chip/interrupt.h"

#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <thread>

namespace ascend {

namespace {

std::atomic<AskInterrupt> ask_interrupt{nullptr};
std::atomic<uint32_t> count{0};
struct sigaction previous;
sem_t arrived;
std::atomic<pid_t> watched{0};  // a child of fork has no thread of its own yet

void handle(int signal, siginfo_t* info, void* context) {
    const int error = errno;
    if (watched == getpid()) sem_post(&arrived);
    errno = error;
    if (previous.sa_flags & SA_SIGINFO) previous.sa_sigaction(signal, info, context);
    else previous.sa_handler(signal);
}

void serve() {
    for (;;) {
        if (sem_wait(&arrived)) continue;
        if (ask_interrupt.load()()) ++count;
    }
}

}  // namespace

void set_ask_interrupt(AskInterrupt ask) { ask_interrupt = ask; }

void watch_interrupts() {
    if (!ask_interrupt.load()) return;
    static std::mutex mutex;
    std::lock_guard lock(mutex);
    struct sigaction now;
    sigaction(SIGINT, nullptr, &now);
    const bool is_plain = !(now.sa_flags & SA_SIGINFO);
    if (is_plain ? now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN : now.sa_sigaction == handle) return;
    if (watched != getpid()) {
        sem_init(&arrived, 0, 0);
        // All signals stay with the threads that had them.
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        std::thread(serve).detach();
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        watched = getpid();
    }
    previous = now;
    struct sigaction own = now;
    own.sa_sigaction = handle;
    own.sa_flags |= SA_SIGINFO | SA_ONSTACK;  // it may come while a fiber runs
    sigaction(SIGINT, &own, nullptr);
}

uint32_t interrupts() noexcept { return count.load(std::memory_order_relaxed); }

}  // namespace ascend
