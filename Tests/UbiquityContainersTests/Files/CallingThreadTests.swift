import FileCoordination
import Foundation
import SystemPackage
import Testing
import UbiquityContainers
import Waiting

/// Asynchronous work on a thread that blocks.
struct CallingThreadTests {
    private actor Counter {
        private(set) var count = 0
        func add() -> Int {
            count += 1
            return count
        }
    }

    private struct Failure: Error {}

    @TaskLocal private static var value = 0

    /// Runs a body on a thread of its own.
    private func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await within("the thread") {
            try await withCheckedThrowingContinuation { continuation in Thread { continuation.resume(with: Result(catching: body)) }.start() }
        }
    }

    @Test("The caller's own thread runs the work, its actors and its children, with the caller's task-local values")
    func thread() async throws {
        let counter = Counter()
        let (threads, sum) = try await onThread {
            try Self.$value.withValue(7) {
                try blockingCaller { () -> (Set<String>, Int) in
                    var threads: Set<String> = []
                    func note() { threads.insert("\(Unmanaged.passUnretained(Thread.current).toOpaque())") }
                    note()
                    for _ in 0..<100 {
                        _ = await counter.add()
                        note()
                        await Task.yield()
                        note()
                    }
                    let sum = await withTaskGroup(of: Int.self) { group in
                        for number in 1...10 { group.addTask { number * Self.value } }
                        return await group.reduce(0, +)
                    }
                    return (threads, sum)
                }
            }
        }
        #expect(threads.count == 1 && sum == 55 * 7)
        #expect(await counter.count == 100)
        await #expect(throws: Failure.self) { try await onThread { try blockingCaller { throw Failure() } } }
    }

    @Test("Work that blocks every thread of the pool, as ported code does, needs none: containers, moves and versions are at hand")
    func occupied() async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            try home.signIn(AccountName("alice"))
            let count = 4 * ProcessInfo.processInfo.activeProcessorCount
            /// What ported code does on a thread of the pool.
            let work: @Sendable (Int) throws -> Bool = { number in
                let container = try blockingCaller { try await UbiquityContainer("org.example.test", home: home) }
                try FileManager.default.createDirectory(atPath: container.documents.string, withIntermediateDirectories: true)
                let (local, name) = (directory.appending("\(number).txt"), container.documents.appending("\(number).txt"))
                try Data("x".utf8).write(to: URL(filePath: local.string))
                let target = URL(filePath: name.string)
                try blockingCaller { try await container.setUbiquitous(true, itemAt: URL(filePath: local.string), destinationURL: target) }
                return try blockingCaller { try await FileVersion.currentVersion(ofItemAt: target) } != nil
            }
            let done = try await within("all of them") {
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    for number in 0..<count { group.addTask { try work(number) } }
                    return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
            }
            #expect(done == count)
        }
    }

    @Test("An access inside an accessor is nested in it, also from blocking code")
    func nested() async throws {
        try await withTemporaryDirectory { directory in
            let url = URL(filePath: directory.appending("Letter.txt").string)
            try Data("mine".utf8).write(to: url)
            let text = try await onThread {
                try FileCoordinator().coordinate(writingItemAt: url) { url in
                    try blockingCaller {
                        try await FileVersion.addVersion(ofItemAt: url, withContentsOf: url)
                        return try await FileCoordinator.current.write(url) { try String(contentsOf: $0, encoding: .utf8) }
                    }
                }
            }
            #expect(text == "mine")
        }
    }
}
