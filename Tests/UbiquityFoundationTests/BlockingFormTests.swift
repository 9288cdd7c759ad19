import FileCoordination
import Foundation
import Testing
import UbiquityFoundation
import Waiting

/// The forms of an access under Cocoa's names.
@Suite(.timeLimit(.minutes(40))) struct BlockingFormTests {
    @Test("D-02: a blocking form runs its accessor once, on the calling thread, before it returns, and leaves the error alone")
    func callingThread() async throws {
        try await withDirectory { directory in
            let (one, two) = (try directory.write("one.txt", "1"), directory.file("two.txt"))
            let runs = try await onThread { () -> [String] in
                let thread = Thread.current
                var runs: [String] = []
                var error: NSError?
                let coordinator = NSFileCoordinator(filePresenter: nil)
                coordinator.coordinate(readingItemAt: one, options: [], error: &error) { url in
                    runs.append("read \(url == one) \(Thread.current === thread)")
                }
                coordinator.coordinate(writingItemAt: two, options: .forReplacing, error: &error) { url in
                    runs.append("write \(url == two) \(Thread.current === thread)")
                }
                coordinator.coordinate(readingItemAt: one, options: .withoutChanges, writingItemAt: two, options: [], error: &error) { from, to in
                    runs.append("both \(from == one && to == two) \(Thread.current === thread)")
                }
                coordinator.coordinate(writingItemAt: one, options: .forMoving, writingItemAt: two, options: .forReplacing, error: &error) {
                    from, to in
                    runs.append("move \(from == one && to == two) \(Thread.current === thread)")
                }
                coordinator.coordinate(readingItemAt: one, error: nil) { _ in runs.append("without an error") }
                runs.append("error \(error as Any)")
                return runs
            }
            #expect(runs == ["read true true", "write true true", "both true true", "move true true", "without an error", "error nil"])
        }
    }

    @Test("D-02: accesses of one coordinator, of one presenter and of one purpose do not wait for each other, however they are nested")
    func reentrancy() async throws {
        try await withDirectory { directory in
            let url = try directory.write("a.txt", "old")
            let presenter = RecordingClient(url)
            let runs = Box(0)
            try await onThread("nested accesses") {
                let shared = [NSFileCoordinator(), NSFileCoordinator()]
                for coordinator in shared { coordinator.purposeIdentifier = "org.example.\(directory.lastPathComponent)" }
                let one = NSFileCoordinator()
                let pairs = [
                    (one, one), (NSFileCoordinator(filePresenter: presenter), NSFileCoordinator(filePresenter: presenter)), (shared[0], shared[1]),
                ]
                for (outer, inner) in pairs {
                    outer.coordinate(writingItemAt: url, error: nil) { url in
                        inner.coordinate(writingItemAt: url, error: nil) { url in
                            inner.coordinate(readingItemAt: url, error: nil) { _ in runs.value += 1 }
                        }
                    }
                }
            }
            #expect(runs.value == 3)
        }
    }

    @Test("D-02: an access that would wait for itself fails with NSFileLockingError, and its accessor does not run")
    func deadlock() async throws {
        try await withDirectory { directory in
            let url = try directory.write("a.txt")
            let (error, hasRun) = try await onThread("a refusal") { () -> (NSError?, Bool) in
                var (error, hasRun): (NSError?, Bool) = (nil, false)
                NSFileCoordinator().coordinate(writingItemAt: url, error: nil) { url in
                    NSFileCoordinator().coordinate(readingItemAt: url, error: &error) { _ in hasRun = true }
                }
                return (error, hasRun)
            }
            #expect(error?.domain == NSCocoaErrorDomain && error?.code == CocoaError.fileLocking.rawValue && !hasRun)
            #expect(error?.userInfo[NSUnderlyingErrorKey] != nil && error?.localizedDescription.contains("a.txt") == true)
        }
    }

    @Test("D-02: a URL that names no file gives an error of Cocoa's for reading and for writing")
    func unusableURL() async throws {
        let web = try #require(URL(string: "https://example.org/a.txt"))
        let codes = try await onThread("refusals") { () -> [Int?] in
            var (reading, writing): (NSError?, NSError?)
            NSFileCoordinator().coordinate(readingItemAt: web, error: &reading) { _ in }
            NSFileCoordinator().coordinate(writingItemAt: web, error: &writing) { _ in }
            return [reading?.code, writing?.code]
        }
        #expect(codes == [CocoaError.fileReadUnsupportedScheme.rawValue, CocoaError.fileWriteUnsupportedScheme.rawValue])
    }

    @Test("D-02: the form with a queue returns at once, and runs its accessor once on the queue, with the items' current URLs")
    func queue() async throws {
        try await withDirectory { directory in
            let (one, two) = (try directory.write("one.txt", "1"), directory.file("two.txt"))
            let queue = OperationQueue()
            let intents = [NSFileAccessIntent.readingIntent(with: one, options: .withoutChanges), .writingIntent(with: two, options: .forReplacing)]
            let events = Events()
            NSFileCoordinator().coordinate(with: intents, queue: queue) { error in
                events.add("\(error == nil) \(OperationQueue.current === queue) \(intents[0].url == one && intents[1].url == two)")
            }
            #expect(try await events.next() == "true true true")
            // A coordinator that is cancelled runs the accessor too, with the error.
            let cancelled = NSFileCoordinator()
            cancelled.cancel()
            cancelled.coordinate(with: intents, queue: queue) { error in
                events.add("\((error as NSError?)?.domain ?? "") \((error as NSError?)?.code ?? 0)")
            }
            #expect(try await events.next() == "\(NSCocoaErrorDomain) 3072")
        }
    }

    @Test("D-02: cancel() ends a wait with NSUserCancelledError, and a running accessor finishes")
    func cancelling() async throws {
        try await withDirectory { directory in
            let url = try directory.write("a.txt")
            let (outer, inner) = (NSFileCoordinator(), NSFileCoordinator())
            let events = Events()
            outer.coordinate(with: [.writingIntent(with: url)], queue: OperationQueue()) { _ in
                // The wait is in this accessor's own time, so it is queued behind it for certain.
                inner.coordinate(with: [.writingIntent(with: url)], queue: OperationQueue()) { events.add("\(($0 as NSError?)?.code ?? 0)") }
                inner.cancel()
                outer.cancel()
                events.add("finished")
            }
            #expect(Set([try await events.next(), try await events.next()]) == ["3072", "finished"])
            let later = try await onThread { () -> Int? in
                var error: NSError?
                outer.coordinate(readingItemAt: url, error: &error) { _ in }
                return error?.code
            }
            #expect(later == CocoaError.userCancelled.rawValue)
        }
    }

    @Test("D-02: prepare asks presenters once, claims nothing, and its accesses claim for themselves")
    func preparing() async throws {
        try await withDirectory { directory in
            let (one, two) = (try directory.write("one.txt", "1"), try directory.write("two.txt", "2"))
            try await withPresenter(RecordingClient(one)) { presenter in
                let texts = try await onThread { () -> [String] in
                    var texts: [String] = []
                    var (error, failure): (NSError?, NSError?)
                    let coordinator = NSFileCoordinator()
                    coordinator.prepare(forReadingItemsAt: [one, two], options: [], writingItemsAt: [], options: [], error: &error) { done in
                        for url in [one, two] {
                            coordinator.coordinate(readingItemAt: url, options: .withoutChanges, error: &failure) { texts.append($0.text ?? "") }
                        }
                        done()
                    }
                    return error == nil ? texts : ["\(error as Any)"]
                }
                #expect(texts == ["1", "2"])
                // The nested read asks for the item, and for no second save.
                let events = try await presenter.events.until("reacquireFromReader")
                #expect(events.filter { $0 == "save" }.count == 1)
                #expect(events.first == "save" || events.first == "relinquishToReader")
            }
        }
    }
}
