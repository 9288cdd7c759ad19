public import Foundation

/// The content of a file, a file package or a symbolic link in memory, as a value; what Foundation's `FileWrapper` is on Apple's systems.
///
/// ```swift
/// var package = FileWrapper(directoryWithFileWrappers: [:])
/// package.addRegularFile(withContents: Data(text.utf8), preferredFilename: "Text.txt")
/// ```
///
/// It is a value: a change of a copy changes no other. Hard links, extended attributes and empty names are not kept.
public struct FileWrapper: Hashable, Sendable {
    /// What an item is made of.
    public enum Content: Hashable, Sendable {
        /// The bytes of a regular file.
        case regularFile(Data)
        /// The items of a directory, by name.
        case directory([String: FileWrapper])
        /// The destination of a symbolic link.
        case symbolicLink(String)
    }

    /// What the item is made of.
    public var content: Content
    /// Whether a regular file may be executed.
    public var isExecutable: Bool

    /// Makes an item.
    ///
    /// - Parameters:
    ///   - content: what the item is made of.
    ///   - isExecutable: whether a regular file may be executed.
    public init(_ content: Content, isExecutable: Bool = false) {
        self.content = content
        self.isExecutable = isExecutable
    }

    /// Makes a regular file.
    public init(regularFileWithContents contents: Data) { self.init(.regularFile(contents)) }

    /// Makes a directory.
    ///
    /// - Parameter children: its items, by name.
    public init(directoryWithFileWrappers children: [String: FileWrapper]) { self.init(.directory(children)) }

    /// Makes a symbolic link.
    public init(symbolicLinkWithDestination destination: String) { self.init(.symbolicLink(destination)) }

    /// Whether it is a regular file.
    public var isRegularFile: Bool { regularFileContents != nil }
    /// Whether it is a directory, such as a package.
    public var isDirectory: Bool { fileWrappers != nil }
    /// Whether it is a symbolic link.
    public var isSymbolicLink: Bool { if case .symbolicLink = content { true } else { false } }

    /// The bytes of a regular file; nil for anything else.
    public var regularFileContents: Data? { if case .regularFile(let data) = content { data } else { nil } }

    /// The items of a directory, by name; nil for anything else.
    ///
    /// Setting nil changes nothing.
    public var fileWrappers: [String: FileWrapper]? {
        get { if case .directory(let children) = content { children } else { nil } }
        set { if let newValue { content = .directory(newValue) } }
    }

    /// An item of a directory, by name; nil if there is none, or this is no directory.
    ///
    /// Setting nil removes the item.
    public subscript(name: String) -> FileWrapper? {
        get { fileWrappers?[name] }
        set {
            guard var children = fileWrappers else { return }
            children[name] = newValue
            content = .directory(children)
        }
    }

    /// Adds an item to a directory.
    ///
    /// - Parameters:
    ///   - child: the item.
    ///   - name: the wanted name; a free name is made from it if it is taken, such as `Text 2.txt`.
    /// - Returns: the name that the item has got.
    @discardableResult
    public mutating func addFileWrapper(_ child: FileWrapper, preferredFilename name: String) -> String {
        let taken = fileWrappers ?? [:]
        var (free, number) = (name, 2)
        let (stem, end) = name.lastIndex(of: ".").map { (String(name[..<$0]), String(name[$0...])) } ?? (name, "")
        while taken[free] != nil {
            free = "\(stem) \(number)\(end)"
            number += 1
        }
        self[free] = child
        return free
    }

    /// Adds a regular file to a directory.
    ///
    /// - Parameters:
    ///   - data: its bytes.
    ///   - name: the wanted name, as in ``addFileWrapper(_:preferredFilename:)``.
    /// - Returns: the name that the file has got.
    @discardableResult
    public mutating func addRegularFile(withContents data: Data, preferredFilename name: String) -> String {
        addFileWrapper(FileWrapper(regularFileWithContents: data), preferredFilename: name)
    }

    /// Removes an item from a directory.
    public mutating func removeFileWrapper(named name: String) { self[name] = nil }
}
