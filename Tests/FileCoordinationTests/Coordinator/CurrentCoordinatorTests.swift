import Dispatch
import Foundation
import Synchronization
import Testing
import Waiting

@testable import FileCoordination

/// Code that works for the accessor or the presenter's method around it.
struct CurrentCoordinatorTests {
    /// A presenter that saves on a dispatch queue of its own.
    private final class Queued: FilePresenter {
        let presentedItemURL: URL?
        private let queue = DispatchQueue(label: "presenter")
        private let carries: Bool
        private let world: World
        let outcome = Mutex<String?>(nil)

        init(_ url: URL, _ world: World, carries: Bool) {
            presentedItemURL = url
            self.world = world
            self.carries = carries
        }

        func savePresentedItemChanges() async throws {
            let url = presentedItemURL!
            let work: @Sendable () -> Void = { [self] in
                let message = FilePresenterMessage.current?.isFromThisProcess
                let isHandling = CoordinationContext.current?.isHandlingMessage ?? false
                outcome.withLock { $0 = "\(message.map { "\($0)" } ?? "none") \(isHandling)" }
                // It would wait for the reader, who waits for it.
                if isHandling { try? world.coordinator(for: self).coordinate(writingItemAt: url) { try Data("saved".utf8).write(to: $0) } }
            }
            nonisolated(unsafe) let carried = carries ? FileCoordinator.carryingContext(work) : { work() }
            await withCheckedContinuation { continuation in
                queue.async {
                    try? carried()
                    continuation.resume()
                }
            }
        }
    }

    @Test("C-52: what a presenter does on a queue of its own belongs to its answer if the context is carried there", arguments: [true, false])
    func carried(carries: Bool) async throws {
        try await withWorld { world in
            let url = try world.file("a.txt", "old")
            let presenter = Queued(url, world, carries: carries)
            world.client.add(presenter)
            let text = try await within("the reader") { try await world.coordinator().read(url) { try String(contentsOf: $0, encoding: .utf8) } }
            #expect(text == (carries ? "saved" : "old"))
            #expect(presenter.outcome.withLock { $0 } == (carries ? "true true" : "none false"))
            world.client.remove(presenter)
        }
    }

    @Test("C-51: the coordinator of the accessor that is running waits for no accessor around it; outside, each is one of its own")
    func current() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "current-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let url = directory.appending(path: "a.txt")
        #expect(FileCoordinator.current.purposeIdentifier != FileCoordinator.current.purposeIdentifier)
        let (outer, inner, innermost) = try await within("the accessors") {
            let coordinator = FileCoordinator()
            return try await coordinator.write(url) { url in
                try await FileCoordinator.current.read(url) { url in
                    (
                        coordinator.purposeIdentifier, FileCoordinator.current.purposeIdentifier,
                        await Task { FileCoordinator.current.purposeIdentifier }.value
                    )
                }
            }
        }
        #expect(outer == inner && inner == innermost)
    }

    @Test("A presenter's error goes to another process with its domain, its code and its words, and is Cocoa's there if it was")
    func refusals() throws {
        struct Own: Error, CustomStringConvertible { var description: String { "not now" } }
        let errors: [any Error] = [
            CocoaError(.fileWriteVolumeReadOnly), NSError(domain: "org.example", code: -7, userInfo: [NSLocalizedDescriptionKey: "no"]), Own(),
        ]
        for error in errors {
            var writer = WireWriter()
            writer.put(PresenterRefusal(error))
            var reader = WireReader(writer.bytes[...])
            let refusal: PresenterRefusal = try reader.get()
            let made = refusal.error
            if let cocoa = error as? CocoaError {
                #expect((made as? CocoaError)?.code == cocoa.code)
            } else {
                #expect(made._domain == error._domain && made._code == error._code, "\(error)")
            }
            #expect(made.localizedDescription.contains("\(error)"))
        }
        #expect(PresenterRefusal(errors[0]).domain == NSCocoaErrorDomain && PresenterRefusal(errors[0]).code == 642)
        #expect(PresenterRefusal(FileCoordinationError(.presenterRefused, "no")).domain == FileCoordinationError.errorDomain)
    }
}
