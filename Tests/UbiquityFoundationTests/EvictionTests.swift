import FileCoordination
import Foundation
import Testing

@testable import UbiquityFoundation

/// The removal of an item's local copy, as presenters of Cocoa's kind decide about it.
@Suite(.timeLimit(.minutes(40))) struct EvictionTests {
    /// A presenter that lets its item go, as Cocoa's documentation says.
    private final class Yielding: NSObject, NSFilePresenter, @unchecked Sendable {
        // Constants.
        let presentedItemURL: URL?
        let presentedItemOperationQueue = OperationQueue()

        init(_ url: URL) { presentedItemURL = url }

        func accommodatePresentedItemEviction(completionHandler: @escaping ((any Error)?) -> Void) {
            NSFileCoordinator.removeFilePresenter(self)
            completionHandler(nil)
        }
    }

    @Test("D-02, U-68: a presenter without the method for evictions refuses them; one that removes itself lets its item go")
    func evicting() async throws {
        try await withDirectory { directory in
            let url = try directory.write("a.txt")
            let events = Events()
            try await withPresenter(RecordingClient(url)) { _ in
                await #expect {
                    try await FileCoordinator.evict(url, deadline: nil) { events.add("evicted past a refusal") }
                } throws: { error in
                    let error = cocoaError(error)
                    return error.code == CocoaError.featureUnsupported.rawValue && error.localizedDescription.contains("a.txt")
                }
            }
            try await withPresenter(Yielding(url)) { presenter in
                try await FileCoordinator.evict(url, deadline: nil) { events.add("evicted") }
                #expect(!NSFileCoordinator.filePresenters.contains { $0 === presenter })
            }
            let event = try await events.next()
            #expect(event == "evicted")
        }
    }
}
