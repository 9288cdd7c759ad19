import FileCoordination
import Foundation
import SystemPackage
import Testing
import UbiquityContainers

@testable import UbiquityFoundation

/// Errors in Cocoa's domains.
@Suite struct CocoaErrorTests {
    @Test("D-02: each error of the package has a code of Cocoa's for reading and for writing, with the path, the words and the cause")
    func codes() {
        let path = FilePath("/tmp/a.txt")
        let table: [(any Error, CocoaError.Code, CocoaError.Code)] = [
            (FileCoordinationError(.deadlock, "words", path: path), .fileLocking, .fileLocking),
            (FileCoordinationError(.brokerUnavailable, "words", path: path), .fileReadUnknown, .fileWriteUnknown),
            (FileCoordinationError(.unusableURL, "words", path: path), .fileReadUnsupportedScheme, .fileWriteUnsupportedScheme),
            (FileCoordinationError(.downloadFailed, "words", path: path), .ubiquitousFileUnavailable, .ubiquitousFileUnavailable),
            (FileCoordinationError(.fileSystem, "words", path: path, cause: Errno.permissionDenied), .fileReadNoPermission, .fileWriteNoPermission),
            (FileCoordinationError(.presenterRefused, "words", path: path), .fileReadUnknown, .fileWriteUnknown),
            (ContainerError(.fileSystem, "words", path: path, cause: Errno.noSpace), .fileWriteOutOfSpace, .fileWriteOutOfSpace),
            (ContainerError(.fileSystem, "words", path: path, cause: Errno.noSuchFileOrDirectory), .fileReadNoSuchFile, .fileNoSuchFile),
            (ContainerError(.fileSystem, "words", path: path, cause: Errno.readOnlyFileSystem), .fileReadUnknown, .fileWriteVolumeReadOnly),
            (ContainerError(.fileExists, "words", path: path), .fileWriteFileExists, .fileWriteFileExists),
            (ContainerError(.notAvailable, "words", path: path), .featureUnsupported, .featureUnsupported),
            (ContainerError(.notAllowed, "words", path: path), .fileReadNoPermission, .fileWriteNoPermission),
            (
                ContainerError(.signedOut, "words", path: path), .ubiquitousFileUbiquityServerNotAvailable,
                .ubiquitousFileUbiquityServerNotAvailable
            ),
        ]
        for (error, reading, writing) in table {
            #expect(cocoaError(error, .reading).code == reading.rawValue, "\(error)")
            let converted = cocoaError(error, .writing)
            #expect(converted.domain == NSCocoaErrorDomain && converted.code == writing.rawValue, "\(error)")
            #expect(converted.userInfo[NSFilePathErrorKey] as? String == path.string)
            #expect(converted.localizedDescription.hasPrefix("words") && converted.userInfo[NSUnderlyingErrorKey] is NSError)
        }
    }

    @Test("D-02: a presenter's own error, a cancellation, and errors of others stay what they are")
    func others() {
        let own = NSError(domain: "Letters", code: 42)
        #expect(cocoaError(FileCoordinationError(.presenterRefused, "words", cause: own)).isEqual(own))
        #expect(cocoaError(own).isEqual(own))
        #expect(cocoaError(CancellationError()).code == CocoaError.userCancelled.rawValue)
        #expect(cocoaError(CocoaError(.userCancelled)).code == 3072)
        let cause = cocoaError(FileCoordinationError(.fileSystem, "words", cause: Errno.noSpace)).userInfo[NSUnderlyingErrorKey] as? NSError
        #expect(cause?.domain == NSPOSIXErrorDomain && cause?.code == 28)
    }
}
