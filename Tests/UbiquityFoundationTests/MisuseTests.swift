import Foundation
import Testing
import UbiquityFoundation

/// Programming errors, each of which ends the process with a sentence, and settings without effect.
@Suite(.timeLimit(.minutes(40))) struct MisuseTests {
    @Test("D-02: a move that is reported outside the accessor of a write ends the process, and names both places")
    func moveOutside() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            NSFileCoordinator().item(at: URL(fileURLWithPath: "/tmp/a.txt"), didMoveTo: URL(fileURLWithPath: "/tmp/b.txt"))
        }
        #expect(result.said("A move from /tmp/a.txt to /tmp/b.txt was reported outside the accessor"))
    }

    @Test("D-02: an announcement of a move does nothing, inside an accessor and outside")
    func announcement() async throws {
        try await withDirectory { directory in
            let url = try directory.write("a.txt", "text")
            try await withPresenter(RecordingClient(url)) { presenter in
                NSFileCoordinator().item(at: url, willMoveTo: directory.file("b.txt"))
                try await onThread {
                    let coordinator = NSFileCoordinator()
                    coordinator.coordinate(writingItemAt: url, error: nil) { coordinator.item(at: $0, willMoveTo: directory.file("b.txt")) }
                }
                #expect(try await presenter.events.until("reacquireFromWriter").allSatisfy { !$0.hasPrefix("didMove") })
                #expect(url.text == "text")
            }
        }
    }

    @Test("D-02: an attempt to make a conflict unresolved ends the process, and names the version")
    func unresolving() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await withDirectory { directory in
                let letter = try directory.write("Letter.txt", "ours")
                try directory.write("Letter.sync-conflict-20260102-030405-ABCDEFG.txt", "theirs")
                try await onThread { NSFileVersion.unresolvedConflictVersionsOfItem(at: letter)?.first?.isResolved = false }
            }
        }
        #expect(result.said("cannot be made unresolved"))
    }

    @Test("D-02: a version that is marked as discardable stays, and the mark has no effect")
    func discardable() async throws {
        try await withDirectory { directory in
            let letter = try directory.write("Letter.txt", "ours")
            try directory.write("Letter.sync-conflict-20260102-030405-ABCDEFG.txt", "theirs")
            try await onThread {
                let version = NSFileVersion.unresolvedConflictVersionsOfItem(at: letter)?.first
                version?.isDiscardable = true
                #expect(version?.isDiscardable == false && version?.hasThumbnail == false)
                #expect(NSFileVersion.unresolvedConflictVersionsOfItem(at: letter)?.first == version && version?.url.text == "theirs")
            }
        }
    }
}

extension ExitTest.Result? {
    fileprivate func said(_ words: String) -> Bool {
        String(decoding: self?.standardErrorContent ?? [], as: UTF8.self).contains(words)
    }
}
