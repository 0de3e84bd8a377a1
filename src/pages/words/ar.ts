import type { Words } from '../words.ts';

export const words: Words = {
  conversation: 'محادثة',
  needsScript: 'تحتاج هذه الصفحة إلى JavaScript.',
  unknownTitle: 'لا يوجد شيء هنا.',
  unknownText: 'ربما كُتب العنوان خطأً، أو لم تعد المحادثة متاحة.',

  you: 'أنت',
  message: 'رسالتك',
  send: 'إرسال',
  stop: 'إيقاف الرد',
  close: 'إغلاق',
  cancel: 'إلغاء',
  newConversation: 'محادثة جديدة',
  newConversationAsk: 'هل تريد بدء محادثة جديدة؟ لن يمكن فتح هذه مرة أخرى.',
  latest: 'أحدث رسالة',
  replying: '{name} يكتب الرد …',

  empty: 'اكتب رسالة للبدء.',
  tooLong: 'عدد الحروف الزائدة: {count}.',

  sending: 'جارٍ الإرسال …',
  tryAgain: 'المحاولة مرة أخرى',
  stopped: 'لقد أوقفت هذا الرد.',
  cut: 'انقطع هذا الرد.',

  offline: 'لا يوجد اتصال. ستستمر المحادثة عند عودته.',
  waiting: 'هناك ازدحام الآن. ستُرسل رسالتك في {time}.',
  limited: 'لا يمكن إرسال مزيد من الرسائل الآن. يرجى المحاولة في {time}.',
  over: 'انتهت هذه المحادثة.',
  closed: 'لا أحد متاح هنا في الوقت الحالي.',
  gone: 'لم تعد هذه المحادثة متاحة.',
  siteNotPermitted: 'لا يُسمح لهذا الموقع بعرض المحادثة.',
  unavailable: 'لا يوجد رد الآن. يرجى المحاولة لاحقًا.',
  failed: 'حدث خطأ ما. يرجى المحاولة مرة أخرى.',
  reference: 'المرجع: {id}',

  copy: 'نسخ',
  copied: 'تم النسخ',
  readAloud: 'قراءة بصوت عالٍ',
  stopReading: 'إيقاف القراءة',
  listen: 'إملاء رسالتك',
  call: 'اتصال',
  stopListening: 'إيقاف الاستماع',
  noMicrophone: 'لا يمكن استخدام الميكروفون. يرجى السماح به في المتصفح.',
  noVoice: 'الصوت غير متاح حاليًا.',
};
