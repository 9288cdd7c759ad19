import Foundation
import Testing
import UbiquityFoundation

/// The versions of files under Cocoa's names.
@Suite(.timeLimit(.minutes(40))) struct NSFileVersionTests {
    private let mark = "sync-conflict-20260102-030405-ABCDEFG"

    private func withLetter(_ body: (_ directory: URL, _ letter: URL) async throws -> Void) async throws {
        try await withDirectory { directory in
            try directory.write("Letter.\(mark).txt", "theirs")
            try await body(directory, try directory.write("Letter.txt", "ours"))
        }
    }

    @Test("D-02: the versions of a file are found with their facts, and again by their persistent identifiers")
    func lookup() async throws {
        try await withLetter { directory, letter in
            try await onThread {
                let current = NSFileVersion.currentVersionOfItem(at: letter)
                #expect(current?.url == letter && current?.isConflict == false && current?.isResolved == true)
                let versions = NSFileVersion.unresolvedConflictVersionsOfItem(at: letter)
                #expect(versions?.count == 1 && versions == NSFileVersion.otherVersionsOfItem(at: letter))
                guard let version = versions?.first else { return }
                #expect(version.isConflict && !version.isResolved && version.hasLocalContents && !version.hasThumbnail && !version.isDiscardable)
                #expect(
                    version.localizedName == "Letter.txt" && version.localizedNameOfSavingComputer == "ABCDEFG" && version.modificationDate != nil)
                #expect(version.url.text == "theirs")
                let again = NSFileVersion.version(itemAt: letter, forPersistentIdentifier: version.persistentIdentifier)
                #expect(again == version && again?.hash == version.hash && again != current)
                #expect(NSFileVersion.version(itemAt: letter, forPersistentIdentifier: 12) == nil)
                let missing = directory.file("Missing.txt")
                #expect(NSFileVersion.currentVersionOfItem(at: missing) == nil && NSFileVersion.otherVersionsOfItem(at: missing) == nil)
                #expect(NSFileVersion.unresolvedConflictVersionsOfItem(at: missing) == nil)
            }
        }
    }

    @Test("D-02: inside an accessor a conflict is resolved as Cocoa's documentation shows, and presenters hear of it")
    func resolving() async throws {
        try await withLetter { _, letter in
            try await withPresenter(RecordingClient(letter)) { presenter in
                #expect(try await presenter.events.until("gained \(mark)").last == "gained \(mark)")
                let failure = try await onThread("a resolution in an accessor") { () -> (any Error)? in
                    var (error, failure): (NSError?, (any Error)?) = (nil, nil)
                    NSFileCoordinator(filePresenter: presenter).coordinate(writingItemAt: letter, options: .forMerging, error: &error) { url in
                        do {
                            for version in NSFileVersion.unresolvedConflictVersionsOfItem(at: url) ?? [] {
                                try version.replaceItem(at: url, options: [])
                                version.isResolved = true
                            }
                            try NSFileVersion.removeOtherVersionsOfItem(at: url)
                        } catch { failure = error }
                    }
                    return error ?? failure
                }
                #expect(failure == nil)
                #expect(letter.text == "theirs")
                #expect(try await onThread { NSFileVersion.otherVersionsOfItem(at: letter)?.count } == 0)
                let events = try await presenter.events.until("lost \(mark)")
                #expect(events.contains("resolved \(mark)") && !events.contains("relinquishToWriter"))
            }
        }
    }

    @Test("D-02: versions are added, chosen and removed; what cannot be removed gives an error of Cocoa's with the path")
    func changing() async throws {
        try await withLetter { _, letter in
            let error = try await onThread("changes of versions") { () -> NSError? in
                do {
                    let added = try NSFileVersion.addOfItem(at: letter, withContentsOf: letter, options: [])
                    #expect(!added.isConflict && added.url.text == "ours")
                    let theirs = NSFileVersion.unresolvedConflictVersionsOfItem(at: letter)?.first
                    #expect(try theirs?.replaceItem(at: letter, options: .byMoving) == letter)
                    #expect(letter.text == "theirs" && theirs?.hasLocalContents == false)
                    #expect(try added.replaceItem(at: letter) == letter)
                    try added.remove()
                    #expect(letter.text == "ours" && NSFileVersion.otherVersionsOfItem(at: letter) == [])
                    try NSFileVersion.currentVersionOfItem(at: letter)?.remove()
                    return nil
                } catch {
                    return error as NSError
                }
            }
            #expect(error?.domain == NSCocoaErrorDomain && error?.code == CocoaError.fileWriteNoPermission.rawValue)
            #expect(error?.userInfo[NSFilePathErrorKey] as? String == letter.path)
        }
    }
}
