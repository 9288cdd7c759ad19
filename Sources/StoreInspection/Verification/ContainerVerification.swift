package import Foundation
internal import StoreExchange
internal import StoreFormat
package import SystemPackage
internal import UbiquityContainers

/// The result of verifying every file of the stores' contents in a container.
package struct ContainerVerification: Sendable, Codable {
    package var path: String
    package var contents: [ContentVerification] = []
    /// The findings outside the contents.
    package var findings: [ContentVerification.Finding] = []

    /// Whether nothing is wrong or missing.
    package var isSound: Bool { findings.isSound && contents.allSatisfy(\.isSound) }

    /// Verifies a container, or one of its contents.
    ///
    /// - Parameters:
    ///   - path: the container's directory, or a content's.
    ///   - content: the only content to verify; nil for all.
    ///   - now: the time; later stamps are not plausible.
    ///   - progress: called before each file that is read.
    /// - Throws: `UbiquitousStoreError` if there is no such directory or content. A fault of a file is a finding.
    package init(of path: FilePath, content: String? = nil, now: Date = Date(), progress: @escaping (FilePath) -> Void = { _ in }) throws {
        let files = LinuxFileLayer()
        let absolute = path.isRelative ? FilePath(FileManager.default.currentDirectoryPath).pushing(path) : path
        let full = absolute.lexicallyNormalized()
        self.path = full.string
        func verify(_ layout: ContentLayout) -> ContentVerification {
            ContentVerifier(layout: layout, files: files, now: now, progress: progress).verify()
        }
        let parent = full.appending(UbiquityContainer.storesName)
        if content == nil, let layout = ContentLayout(directory: full), Self.isDirectory(full, files) {
            contents = [verify(layout)]
        } else if let content {
            let layout = ContentLayout(container: full, content: content)
            guard FilePath(content).components.allSatisfy({ $0.kind == .regular }), !content.isEmpty, FilePath(content).isRelative,
                Self.isDirectory(layout.directory, files)
            else {
                throw UbiquitousStoreError(.notFound, "\(full) has no content “\(content)”; `ubwatch status` lists what it has.", path: full)
            }
            contents = [verify(layout)]
        } else {
            guard Self.isDirectory(parent, files) || Self.isDirectory(full.appending(UbiquityContainer.markDirectoryName), files) else {
                throw UbiquitousStoreError(
                    .notFound,
                    "\(full) is neither a container nor a content; name <containers root>/<account>/<container identifier>, or a directory in its CoreData.",
                    path: full)
            }
            _ = findings.entries(of: parent, files, expecting: { ForeignNames.matches($0) ? nil : .directory })
            contents = UbiquityContainer.storeContents(of: full, files).map { verify(ContentLayout(container: full, content: $0)) }
        }
    }

    private static func isDirectory(_ path: FilePath, _ files: LinuxFileLayer) -> Bool { (try? files.kind(of: path)) == .directory }
}
