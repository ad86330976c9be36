// SPDX-License-Identifier: MIT
// How do pool threads sleep between launches? On a condition variable; a forked child starts with an empty pool.
#include "chip/host_pool.h"

#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace ascend {

namespace {

struct Pool {
    std::mutex turn;                // one launch at a time
    std::mutex mutex;
    std::condition_variable start, end;
    int threads = 0;
    const std::function<void()>* job = nullptr;
    int wanted = 0;                 // workers still to pick the job up
    int running = 0;

    void serve() {
        std::unique_lock lock(mutex);
        for (;;) {
            start.wait(lock, [&] { return wanted > 0; });
            --wanted;
            const auto* mine = job;
            lock.unlock();
            (*mine)();
            lock.lock();
            if (--running == 0) end.notify_one();
        }
    }
};

Pool* pool = nullptr;
std::mutex pool_mutex;

// The child of a fork has none of the threads and maybe a locked mutex: it gets a new pool, the old one is leaked.
void forget_pool() {
    pool = nullptr;
    new (&pool_mutex) std::mutex;
}

Pool& current_pool() {
    std::lock_guard lock(pool_mutex);
    if (!pool) {
        static const int registered = pthread_atfork(nullptr, nullptr, forget_pool);
        (void)registered;
        pool = new Pool;
    }
    return *pool;
}

}  // namespace

HostPool& HostPool::instance() {
    static HostPool pool_of_process;
    return pool_of_process;
}

void HostPool::run(int count, const std::function<void()>& job) {
    if (count <= 1) {
        job();
        return;
    }
    Pool& workers = current_pool();
    std::lock_guard turn(workers.turn);
    {
        std::lock_guard lock(workers.mutex);
        for (; workers.threads < count - 1; ++workers.threads) std::thread([&workers] { workers.serve(); }).detach();
        workers.job = &job;
        workers.wanted = workers.running = count - 1;
        workers.start.notify_all();
    }
    job();
    std::unique_lock lock(workers.mutex);
    workers.end.wait(lock, [&] { return workers.running == 0; });
}

}  // namespace ascend
